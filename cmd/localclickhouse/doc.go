// Command localclickhouse serves an embedded ClickHouse on one data folder, in
// a process of its own, so that the engine's memory and crashes stay apart from
// the gateway.
//
// It prints "listening on HOST:PORT" when it is ready, and stops on SIGTERM,
// SIGINT, or, if asked to, when its standard input closes.
package main
