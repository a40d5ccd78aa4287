// Package localclickhouse puts libchdb, the ClickHouse engine as a library,
// behind the ClickHouse HTTP interface.
//
// It lets a single machine run Docket with no server beside it: everything
// that stores or reads goes through clickhouse-go/v2 over HTTP, and cannot
// tell this engine from a server.
//
// Guarantees:
//   - One process owns a data folder; a second one is refused with the owner's
//     process id.
//   - Each request runs on a connection of its own (which costs about 0.1 ms),
//     so no setting, database, temporary table or read-only flag of one
//     request is seen by another.
//   - A request whose client leaves is killed in the engine. An insert whose
//     body does not arrive whole fails; as on a server, the rows of whole blocks
//     (about a million rows) that came before stay, and a Native block, the
//     driver's batch, is in the table whole or not at all.
//   - Requests are served only with the password, and only under a loopback
//     Host name. A GET, or a POST with readonly=1, can neither write nor reach
//     files and networks.
//   - Errors reach the driver as ClickHouse exceptions with their code, also in
//     the middle of a result.
//
// Limits: no sessions, no native TCP, no users besides "default", no Replicated
// tables, no query log. The engine sets its own query ids; the client's
// query_id is only echoed. A statement that sets log_comment in its own text
// cannot be found, and so not killed, when its client leaves. A crash of the engine ends the process, so it is a
// process of its own, cmd/localclickhouse.
//
// Decisions: the engine writes Native blocks at protocol revision 0, so the
// driver's handshake query is answered here, with the real version and that
// revision. The official Go binding was rejected: it leaves the engine's signal
// handlers on, which turns a nil dereference in Go into a hang; its streams
// never end; and it has no parameters, no insert streams and no strings with a
// length. A pool of connections was tried and rejected: it saves 0.1 ms and
// needs every setting undone.
package localclickhouse
