package localclickhouse_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
)

// call sends a request as curl would; headers are "Name: value".
func call(t *testing.T, method, target, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr(t)+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("default", password)
	for _, h := range headers {
		name, v, _ := strings.Cut(h, ": ")
		switch name {
		case "Host":
			req.Host = v
		case "No-Auth":
			req.Header.Del("Authorization")
		default:
			req.Header.Set(name, v)
		}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func TestPlainRequests(t *testing.T) {
	_, name := database(t)
	db := "?database=" + name
	for _, c := range []struct {
		name, method, target, body string
		status                     int
		want                       string
	}{
		{"ping", "GET", "/ping", "", 200, "Ok.\n"},
		{"get", "GET", "/?query=SELECT+1,2", "", 200, "1\t2\n"},
		{"post", "POST", "/", "SELECT 1, 2", 200, "1\t2\n"},
		{"format in the text", "POST", "/", "SELECT 1 AS a FORMAT JSONEachRow", 200, "{\"a\":1}\n"},
		{"format in the URL", "POST", "/?default_format=CSV", "SELECT 'a'", 200, "\"a\"\n"},
		{"big JSON is one document", "POST", "/", "SELECT count() FROM (SELECT 1 FROM numbers(200000)) FORMAT JSONCompactEachRow", 200, "[200000]\n"},
		{"query continued in the body", "POST", "/?query=SELECT", "41 + 1", 200, "42\n"},
		{"parameters", "POST", "/?param_a=it%27s", "SELECT {a:String}", 200, "it\\'s\n"},
		{"create", "POST", "/" + db, "CREATE TABLE t (n UInt8, s String) ENGINE = MergeTree ORDER BY n", 200, ""},
		{"insert values", "POST", "/" + db, "INSERT INTO t VALUES (1, 'a;b'), (2, 'FORMAT CSV')", 200, ""},
		{"insert data in the body", "POST", "/" + db + "&query=INSERT+INTO+t+FORMAT+CSV", "3,x\n4,y\n", 200, ""},
		{"insert data behind the text", "POST", "/" + db, "INSERT INTO t (s, n) FORMAT JSONEachRow\n{\"n\":5,\"s\":\"it's FORMAT CSV\"}\n", 200, ""},
		{"insert values in the body", "POST", "/" + db + "&query=INSERT+INTO+t+VALUES", "(6, 'six')", 200, ""},
		{"insert parameters", "POST", "/" + db + "&param_n=7", "INSERT INTO t SELECT {n:UInt8}, 'seven'", 200, ""},
		{"insert nothing", "POST", "/" + db + "&query=INSERT+INTO+t+FORMAT+Native", "", 200, ""},
		{"all arrived", "POST", "/" + db, "SELECT groupArray((n, s)) FROM (SELECT * FROM t ORDER BY n)", 200, "[(1,'a;b'),(2,'FORMAT CSV'),(3,'x'),(4,'y'),(5,'it\\'s FORMAT CSV'),(6,'six'),(7,'seven')]\n"},
		{"insert nonsense", "POST", "/" + db + "&query=INSERT+INTO+t+FORMAT+CSV", "x,y,z\n", 500, "Code: 27."},
		{"get must not write", "GET", "/" + db + "&query=DROP+TABLE+t", "", 500, "Code: 164."},
		{"get must not insert", "GET", "/" + db + "&query=INSERT+INTO+t+VALUES+(9,'x')", "", 500, "Code: 164."},
		{"get must not read files", "GET", "/?query=SELECT+file('/etc/hostname')", "", 500, "Code: 164."},
		{"two statements", "POST", "/", "SELECT 1; SELECT 2", 400, "Code: 62."},
		{"closing semicolon", "POST", "/", "SELECT 1;", 200, "1\n"},
		{"empty", "POST", "/", "", 400, "Code: 62."},
		{"unknown database", "POST", "/?database=nope", "SELECT 1", 404, "Code: 81."},
		{"unknown path", "GET", "/play", "", 404, "404 page not found\n"},
		{"delete", "DELETE", "/", "SELECT 1", 405, "method not allowed\n"},
		{"session", "POST", "/?session_id=x", "SELECT 1", 501, "Code: 48."},
		{"password in the URL", "POST", "/?password=x", "SELECT 1", 400, "Code: 36."},
		{"setting name with SQL", "POST", "/?max_threads%3D1%2C+readonly=1", "SELECT 1", 400, "Code: 36."},
		{"setting value with SQL", "POST", "/?max_threads=1%27%2C+readonly+%3D+%270", "SELECT 1", 500, "Code: 27."},
		{"database with SQL", "POST", "/?database=system%60+--", "SELECT 1", 404, "Code: 81."},
		{"format with SQL", "POST", "/?default_format=CSV+--", "SELECT 1", 400, "Code: 36."},
		{"bad escapes", "POST", "/?query=%zz", "", 400, "Code: 36."},
		{"raised readonly", "POST", "/?readonly=2", "SELECT * FROM file('/etc/hostname')", 500, "Code: 164."},
	} {
		// In order: later cases read what earlier ones wrote.
		t.Run(c.name, func(t *testing.T) {
			resp, body := call(t, c.method, c.target, c.body)
			if resp.StatusCode != c.status {
				t.Errorf("status %d, want %d: %s", resp.StatusCode, c.status, body)
			}
			if c.status != 200 && strings.HasPrefix(c.want, "Code") {
				if want := strings.TrimSuffix(strings.TrimPrefix(c.want, "Code: "), "."); resp.Header.Get("X-ClickHouse-Exception-Code") != want {
					t.Errorf("header says code %s, want %s", resp.Header.Get("X-ClickHouse-Exception-Code"), want)
				}
				body = body[:min(len(body), len(c.want))]
			}
			if diff := cmp.Diff(c.want, body); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBigResultsOfFormatsWithHeadAndFoot(t *testing.T) {
	for _, format := range []string{"JSONCompact", "CSVWithNames", "TSVWithNamesAndTypes", "Markdown"} {
		_, body := call(t, "POST", "/", "SELECT number FROM numbers(200000) FORMAT "+format)
		if n := strings.Count(body, "number"); n != 1 {
			t.Errorf("%s: the column is named %d times", format, n)
		}
	}
}

func TestHostMustBeThisMachine(t *testing.T) {
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8123": 200, "LOCALHOST:1": 200, "127.0.0.1": 200, "127.8.9.10:80": 200, "[::1]:8123": 200,
		"evil.example": 403, "evil.example:8123": 403, "localhost.evil.example": 403, "10.0.0.1": 403, "127.0.0.1.nip.example": 403, "0.0.0.0": 403,
	} {
		if resp, body := call(t, "GET", "/ping", "", "Host: "+host); resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %s", host, resp.StatusCode, want, body)
		}
	}
}

func TestAuthentication(t *testing.T) {
	for _, c := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"fields", []string{"No-Auth: ", "X-ClickHouse-User: default", "X-ClickHouse-Key: " + password}, 200},
		{"key alone", []string{"No-Auth: ", "X-ClickHouse-Key: " + password}, 200},
		{"nothing", []string{"No-Auth: "}, 403},
		{"wrong key", []string{"No-Auth: ", "X-ClickHouse-Key: x"}, 403},
		{"another user", []string{"No-Auth: ", "X-ClickHouse-User: root", "X-ClickHouse-Key: " + password}, 403},
		{"bearer", []string{"Authorization: Bearer x"}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			if resp, body := call(t, "POST", "/", "SELECT 1", c.headers...); resp.StatusCode != c.status {
				t.Errorf("status %d, want %d: %s", resp.StatusCode, c.status, body)
			}
		})
	}
}

func TestWaitEndOfQueryGivesAStatus(t *testing.T) {
	const sql = "SELECT throwIf(number = 500000) FROM numbers(1000000) FORMAT TSV"
	resp, body := call(t, "POST", "/?wait_end_of_query=1", sql)
	if resp.StatusCode != 500 || resp.Header.Get("X-ClickHouse-Exception-Code") != "395" || !strings.HasPrefix(body, "Code: 395.") {
		t.Errorf("status %d: %.100s", resp.StatusCode, body)
	}
	resp, body = call(t, "POST", "/", sql)
	tag := resp.Header.Get("X-ClickHouse-Exception-Tag")
	if resp.StatusCode != 200 || len(tag) != 16 || !strings.Contains(body, "\r\n__exception__\r\n"+tag+"\r\nCode: 395.") || !strings.HasSuffix(body, tag+"\r\n__exception__\r\n") {
		t.Errorf("status %d, tag %s: ...%.300s", resp.StatusCode, tag, body[max(0, len(body)-300):])
	}
	if _, body = call(t, "POST", "/?wait_end_of_query=1", "SELECT sum(number) FROM numbers(10)"); body != "45\n" {
		t.Errorf("got %q", body)
	}
}

func TestSummaryOfAnInsert(t *testing.T) {
	_, name := database(t)
	call(t, "POST", "/?database="+name, "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
	resp, _ := call(t, "POST", "/?database="+name+"&query=INSERT+INTO+t+FORMAT+TSV&query_id=mine", "1\n2\n3\n")
	if got := resp.Header.Get("X-ClickHouse-Summary"); !strings.Contains(got, `"written_rows":"3"`) {
		t.Errorf("summary %q", got)
	}
	if got := resp.Header.Get("X-ClickHouse-Query-Id"); got != "mine" {
		t.Errorf("query id %q", got)
	}
}

func TestBodiesThatAreCutOrDamagedCommitNothing(t *testing.T) {
	conn, name := database(t)
	exec(t, conn, "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
	target := "/?database=" + name + "&query=" + url.QueryEscape("INSERT INTO t FORMAT TSV")
	rows := strings.Repeat("1\n2\n3\n", 200_000)

	t.Run("cut", func(t *testing.T) {
		c := dial(t)
		if _, err := fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head(t, target), len(rows)+10, rows); err != nil {
			t.Fatal(err)
		}
		const running = "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO t%'"
		await(t, "insert to begin", func() bool { return value[uint64](t, conn, running) == 1 })
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		await(t, "insert to end", func() bool { return value[uint64](t, conn, running) == 0 })
	})
	t.Run("damaged gzip", func(t *testing.T) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = io.WriteString(z, rows)
		_ = z.Close()
		if resp, body := call(t, "POST", target, packed.String()[:packed.Len()-20], "Content-Encoding: gzip"); resp.StatusCode == 200 {
			t.Errorf("taken: %s", body)
		}
		if resp, body := call(t, "POST", target, "nonsense", "Content-Encoding: gzip"); resp.StatusCode != 400 {
			t.Errorf("status %d: %s", resp.StatusCode, body)
		}
	})
	t.Run("damaged blocks", func(t *testing.T) {
		if resp, body := call(t, "POST", target+"&decompress=1", "nonsense"); resp.StatusCode == 200 {
			t.Errorf("taken: %s", body)
		}
	})
	t.Run("unknown encoding", func(t *testing.T) {
		if resp, body := call(t, "POST", target, rows, "Content-Encoding: snappy"); resp.StatusCode != 400 {
			t.Errorf("status %d: %s", resp.StatusCode, body)
		}
	})
	if got := value[uint64](t, conn, "SELECT count() FROM t"); got != 0 {
		t.Errorf("%d rows were committed", got)
	}
}

func dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// head is the beginning of a POST, up to the length of its body.
func head(t *testing.T, target string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("default", password)
	return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + req.Header.Get("Authorization") + "\r\n"
}

// A client that sends all of its batch before it reads must get the error, not
// a broken connection, which it would take for a reason to try again.
func TestEarlyErrorReachesAClientThatIsSending(t *testing.T) {
	c := dial(t)
	body := strings.Repeat("1\n", 7<<19)
	if _, err := fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head(t, "/?query=INSERT+INTO+nope+FORMAT+TSV"), len(body), body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if code := resp.Header.Get("X-ClickHouse-Exception-Code"); code != "60" {
		t.Errorf("code %q", code)
	}
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	_, name := database(t)
	call(t, "POST", "/?database="+name, "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
	target := "/?database=" + name + "&query=" + url.QueryEscape("INSERT INTO t FORMAT TSV")
	large := strings.Repeat("1\n", 5<<20)
	if resp, body := call(t, "POST", target, large); resp.StatusCode != 413 {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, large)
	_ = z.Close()
	if resp, body := call(t, "POST", target, packed.String(), "Content-Encoding: gzip"); resp.StatusCode != 413 {
		t.Errorf("unpacked: status %d: %s", resp.StatusCode, body)
	}
	if resp, body := call(t, "POST", "/", "SELECT '"+large+"'"); resp.StatusCode != 413 {
		t.Errorf("statement: status %d: %s", resp.StatusCode, body)
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
	errs := make(chan error, 64) // one per goroutine
	for i := range 64 {
		go func() {
			if i%2 == 0 {
				errs <- conn.Exec(t.Context(), "INSERT INTO t SELECT {n:UInt64}", clickhouse.Named("n", i))
				return
			}
			var n uint64
			errs <- conn.QueryRow(t.Context(), "SELECT sum(number) FROM numbers({n:UInt64})", clickhouse.Named("n", i)).Scan(&n)
		}()
	}
	for range 64 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := value[uint64](t, conn, "SELECT count() FROM t"); got != 32 {
		t.Errorf("got %d rows, want 32", got)
	}
}
