// Command load sends one measured run of load to a loopback address and prints
// the result as JSON. See package loadgen for what is measured.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"log"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"docket/bench/internal/loadgen"
	"docket/bench/internal/payload"
	"docket/bench/internal/procstat"
)

type headers []string

func (h *headers) String() string     { return strings.Join(*h, ", ") }
func (h *headers) Set(s string) error { *h = append(*h, s); return nil }

func main() {
	var hs headers
	target := flag.String("url", "http://127.0.0.1:9901/v1/chat/completions", "loopback URL to send to")
	model := flag.String("model", "mock-model", "model named in the request")
	stream := flag.Bool("stream", false, "ask for a stream")
	size := flag.Int("size", 2048, "bytes of the request body")
	image := flag.Bool("image", false, "fill the request with an inline image")
	rate := flag.Float64("rate", 0, "requests a second; 0 is closed loop")
	conns := flag.Int("conns", 64, "connections")
	dur := flag.Duration("d", 5*time.Second, "how long requests are started")
	n := flag.Int("n", 0, "most requests; 0 is no limit")
	timeout := flag.Duration("timeout", 30*time.Second, "of one request")
	want := flag.Uint("want-crc", 0, "CRC-32C the response body should have (from /__mock)")
	pid := flag.Int("pid", 0, "process to read CPU time and memory of, with its descendants")
	flag.Var(&hs, "H", "request header, may be given again")
	flag.Parse()

	u, err := url.Parse(*target)
	if err != nil {
		log.Fatal(err)
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		log.Fatalf("refusing to send load to %s: not a loopback address", u.Host)
	}
	body := payload.ChatRequest(*model, *stream, *size)
	if *image {
		body = payload.ImageRequest(*model, *stream, *size)
	}
	before, err := usage(*pid)
	if err != nil {
		log.Fatal(err)
	}
	res, err := loadgen.Run(context.Background(), loadgen.Spec{
		Addr: u.Host, Path: u.RequestURI(), Headers: hs, Body: body,
		Rate: *rate, Conns: *conns, Duration: *dur, Requests: *n, Timeout: *timeout,
		WantCRC: uint32(*want), ReqCRC: crc32.Checksum(body, payload.Table),
	})
	if err != nil {
		log.Fatal(err)
	}
	after, err := usage(*pid)
	if err != nil {
		log.Fatal(err)
	}
	out := map[string]any{"result": res}
	if *pid > 0 && res.OK > 0 {
		out["cpu_us_per_request"] = float64(after.CPU(before).Microseconds()) / float64(res.OK)
		out["rss_mib"] = after.RSS >> 20
		out["peak_rss_mib"] = after.Peak >> 20
	}
	b, _ := json.MarshalIndent(out, "", "  ")
	fmt.Println(string(b))
	if len(res.Errors) > 0 {
		os.Exit(1)
	}
}

func usage(pid int) (procstat.Usage, error) {
	if pid == 0 {
		return procstat.Usage{}, nil
	}
	return procstat.Read(pid)
}
