package proxy_test

import (
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

const plainAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Mon, 01 Dec 2025 00:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}"

// exchangeCase is a request and an answer that must pass unchanged. Both are
// raw; the request's target begins with /v1.
type exchangeCase struct {
	name    string
	request string
	answer  string
}

func get(target string, fields ...string) string {
	return line("GET", target, fields...)
}

func line(method, target string, fields ...string) string {
	raw := method + " " + target + " HTTP/1.1\r\nHost: proxy.test\r\n"
	for _, f := range fields {
		raw += f + "\r\n"
	}
	return raw + "\r\n"
}

func answer(head string, body string) string {
	return "HTTP/1.1 " + head + "\r\n\r\n" + body
}

func exchangeCases() []exchangeCase {
	var cases []exchangeCase
	add := func(name, request, ans string) { cases = append(cases, exchangeCase{name, request, ans}) }

	for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "MKCOL", "PURGE", "M-SEARCH", "get", "post", "Weird-Method!"} {
		add("method "+m, line(m, "/v1/models"), plainAnswer)
		add("method with body "+m, line(m, "/v1/models", "Content-Length: 5")+"hello", plainAnswer)
	}
	add("method HEAD", line("HEAD", "/v1/models"), answer("200 OK\r\nContent-Length: 1234\r\nContent-Type: text/x", ""))
	add("method HEAD without length", line("HEAD", "/v1/models"), answer("200 OK\r\nX-A: b", ""))
	add("method HEAD chunked", line("HEAD", "/v1/models"), answer("200 OK\r\nTransfer-Encoding: chunked", ""))

	for _, target := range []string{
		"/v1", "/v1/", "/v1?", "/v1?a=b", "/v1//", "/v1//models", "/v1/a//b///c", "/v1/../x", "/v1/./a/../b/..",
		"/v1/a%2Fb", "/v1/a%2fb", "/v1/%41%5a", "/v1/%00", "/v1/a|b", "/v1/\"<>^`{}[]\\", "/v1/caf\u00e9/\u65e5\u672c", "/v1/\xff\xfe",
		"/v1/a;b=c/d", "/v1/a:b@c!$&'()*+,=", "/v1/x#frag", "/v1/x?a=1;b=2", "/v1/x?a=%zz&b=%", "/v1/x?e", "/v1/x?e=", "/v1/x??", "/v1/x?a?b#c",
		"/v1/x?q=\u00e9|\"<>", "/v1/x?&&==&", "/v1/x?a=b&a=c&%20+=", "/v1/x?",
	} {
		add("target "+target, get(target), plainAnswer)
	}

	add("repeated fields", get("/v1/x", "X-A: 1", "x-b: 2", "X-A: 3", "X-a:", "X-A:  spaced \t"), answer(
		"200 OK\r\nSet-Cookie: a=1\r\nX-R: 1\r\nset-cookie: b=2\r\nX-R:\r\nX-R: 2, 3\r\nContent-Length: 0", ""))
	add("fields of proxies", get("/v1/x", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 5.6.7.8", "X-Forwarded-Host: a", "X-Forwarded-Proto: https",
		"Forwarded: for=1.2.3.4", "Via: 1.1 x", "X-Real-Ip: 9.9.9.9"), plainAnswer)
	add("fields that net/http knows", get("/v1/x", "Accept-Encoding: br, gzip", "User-Agent: sdk/1 (x)", "Cookie: a=b; c=d", "Cookie: e=f", "Referer: http://u:p@h/",
		"Range: bytes=0-1", "If-None-Match: \"x\"", "Authorization: Bearer fake", "Pragma: x", "Origin-X: y", "Baggage: a=b;c=d,e=f"), plainAnswer)
	add("user agent absent", get("/v1/x"), plainAnswer)
	add("user agent empty", get("/v1/x", "User-Agent:"), plainAnswer)
	add("user agent twice", get("/v1/x", "User-Agent: a", "User-Agent: b"), plainAnswer)
	add("pragma alone", get("/v1/x", "Pragma: no-cache"), answer("200 OK\r\nPragma: no-cache\r\nContent-Length: 0", ""))
	add("pragma and cache-control", get("/v1/x", "Pragma: no-cache", "Cache-Control: no-cache"), answer("200 OK\r\nPragma: no-cache\r\nCache-Control: no-cache\r\nContent-Length: 0", ""))
	add("odd bytes in fields", get("/v1/x", "X-Utf8: caf\u00e9 \xff", "X_under: 1", "x!#$%&'*+-.^_`|~: y"), answer("200 OK\r\nX-Utf8: \xe9\xff\r\nx_y: 2\r\nContent-Length: 0", ""))
	add("idempotency key", get("/v1/x", "Idempotency-Key: k", "X-Idempotency-Key: l"), plainAnswer)
	add("one cookie, and a host", get("/v1/x", "Cookie: a=b; c=d;e=f"), answer("200 OK\r\nSet-Cookie: a=b; Path=/\r\nSet-Cookie: c=d\r\nContent-Length: 0", ""))
	add("empty and odd values", get("/v1/x", "X-Empty:", "X-Comma: ,", "X-Quote: \"a, b\"", "X-Tab: a\tb"), answer("200 OK\r\nX-Empty:\r\nX-Tab: a\tb\r\nContent-Length: 0", ""))
	add("te trailers", get("/v1/x", "TE: trailers"), plainAnswer)
	add("long field", get("/v1/x", "X-Long: "+strings.Repeat("a", 60_000)), answer("200 OK\r\nX-Long: "+strings.Repeat("b", 60_000)+"\r\nContent-Length: 0", ""))

	for _, body := range []string{"", "x", "{\"a\" : 1.0 }\n", strings.Repeat("0123456789abcdef", 40_000), "\x00\xff\r\n\r\n"} {
		name := "body of " + itoa(len(body))
		add(name, line("POST", "/v1/x", "Content-Length: "+itoa(len(body)))+body, answer("200 OK\r\nContent-Type: a/b\r\nContent-Length: "+itoa(len(body)), body))
		add(name+" chunked", line("POST", "/v1/x", "Transfer-Encoding: chunked")+chunked(body), answer("200 OK\r\nTransfer-Encoding: chunked", chunked(body)))
		add(name+" to the end", line("POST", "/v1/x", "Content-Length: 0"), answer("200 OK\r\nConnection: close", body))
	}
	big := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	add("1 MiB each way", line("POST", "/v1/x", "Content-Length: "+itoa(len(big)))+big, answer("200 OK\r\nContent-Length: "+itoa(len(big)), big))
	add("1 MiB each way, chunked", line("POST", "/v1/x", "Transfer-Encoding: chunked")+chunked(big), answer("200 OK\r\nTransfer-Encoding: chunked", chunked(big)))
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd", "gzip, br", "unheard-of"} {
		body := "\x1f\x8b\x08\x00\xff not really " + encoding
		add("encoding "+encoding, line("POST", "/v1/x", "Accept-Encoding: "+encoding, "Content-Encoding: "+encoding, "Content-Length: "+itoa(len(body)))+body,
			answer("200 OK\r\nContent-Encoding: "+encoding+"\r\nVary: Accept-Encoding\r\nContent-Length: "+itoa(len(body)), body))
	}
	form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.mp3\"\r\n\r\n\x00\xff\r\n--b--\r\n"
	add("multipart", line("POST", "/v1/audio/transcriptions", "Content-Type: multipart/form-data; boundary=b", "Content-Length: "+itoa(len(form)))+form, plainAnswer)
	add("content encoding", line("POST", "/v1/x", "Content-Encoding: gzip", "Content-Length: 3")+"\x1f\x8b\x08", answer("200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3", "\x1f\x8b\x08"))
	add("request trailers announced", line("POST", "/v1/x", "Transfer-Encoding: chunked", "Trailer: X-Sum, X-Other")+"3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n", plainAnswer)
	add("request trailers unannounced", line("POST", "/v1/x", "Transfer-Encoding: chunked")+"3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", plainAnswer)
	add("trailers announced", get("/v1/x", "TE: trailers"), answer("200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n"))
	add("trailers unannounced", get("/v1/x", "TE: trailers"), answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n"))
	add("trailers of an empty body", get("/v1/x"), answer("200 OK\r\nTransfer-Encoding: chunked", "0\r\nX-T: 1\r\n\r\n"))

	for _, head := range []string{
		"200 OK\r\nContent-Length: 0", "201 Created\r\nLocation: /elsewhere\r\nContent-Length: 0", "202 \r\nContent-Length: 0", "204 No Content\r\nX-A: b", "205 Reset Content\r\nContent-Length: 0",
		"299 Odd\r\nContent-Length: 0", "301 Moved Permanently\r\nLocation: http://else.test/\r\nContent-Length: 0", "304 Not Modified\r\nETag: \"x\"\r\nContent-Type: a/b\r\nContent-Length: 77",
		"400 Bad Request\r\nContent-Length: 0", "404 Not Found\r\nContent-Length: 0", "429 Too Many Requests\r\nRetry-After: 30\r\nx-ratelimit-remaining-requests: 0\r\nContent-Length: 0",
		"418 x\r\nContent-Length: 0", "451 x\r\nContent-Length: 0", "499 x\r\nContent-Length: 0", "502 Bad Gateway\r\nContent-Type: text/html\r\nServer: edge\r\nContent-Length: 0",
		"529 Overloaded\r\nContent-Length: 0", "599 x\r\nContent-Length: 0", "799 x\r\nContent-Length: 0", "999 x\r\nContent-Length: 0",
	} {
		add("status "+head[:3], line("POST", "/v1/x", "Content-Length: 0"), answer(head, ""))
	}
	add("no content type, html body", get("/v1/x"), answer("200 OK\r\nContent-Length: 13", "<html></html>"))
	add("no date", get("/v1/x"), answer("200 OK\r\nContent-Type: x/y\r\nContent-Length: 1", "x"))
	add("interim 103 and 102", get("/v1/x"), answer("103 Early Hints\r\nLink: </a>\r\nLink: </b>", "")+answer("102 Processing", "")+answer("200 OK\r\nContent-Length: 2", "ok"))
	add("interim 103 before no content type", get("/v1/x"), answer("103 Early Hints\r\nLink: </a>", "")+answer("200 OK\r\nTransfer-Encoding: chunked", chunked("<html>")))
	add("server-sent events", get("/v1/x", "Accept: text/event-stream"), answer("200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\nTransfer-Encoding: chunked", chunked("data: 1\n\ndata: [DONE]\n\n")))
	return cases
}

func chunked(body string) string {
	var b strings.Builder
	for part := range slices.Chunk([]byte(body), 1000) {
		b.WriteString(strconv.FormatInt(int64(len(part)), 16) + "\r\n" + string(part) + "\r\n")
	}
	return b.String() + "0\r\n\r\n"
}
