package localclickhouse

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// request is what a client asks for, without its body.
type request struct {
	query       string // the query parameter; the body continues it
	database    string
	format      string // what to write when the SQL names no FORMAT
	queryID     string
	protocol    int // the driver's protocol version, 0 for others
	settings    []setting
	params      []param
	readonly    bool
	compress    string // "", "lz4" or "zstd": blocks of ClickHouse framing
	decompress  bool   // the body comes in such blocks
	waitForEnd  bool   // answer only when all of the result is there
	contentCode string // Content-Encoding of the body
}

// bridgeOnly are URL parameters that are no settings, or settings of a server's
// HTTP interface which mean nothing here.
var bridgeOnly = map[string]bool{
	"query": true, "database": true, "default_format": true, "query_id": true, "quota_key": true,
	"client_protocol_version": true, "compress": true, "decompress": true, "readonly": true,
	"network_compression_method": true, "network_zstd_compression_level": true,
	"enable_http_compression": true, "http_zlib_compression_level": true,
	"wait_end_of_query": true, "buffer_size": true, "stacktrace": true,
	"add_http_cors_header": true, "send_progress_in_http_headers": true,
	"log_comment": true, // names the statement for KILL
}

// parseRequest reads URL and header fields. Setting names that could end a SET
// statement are refused; values are quoted when they are used.
func parseRequest(r *http.Request) (request, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return request{}, &Exception{Code: codeNotImplemented, Name: "NOT_IMPLEMENTED", Message: "the embedded engine takes no external tables: give the values as parameters"}
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return request{}, badRequest("cannot read the URL parameters: " + err.Error())
	}
	req := request{
		query:       values.Get("query"),
		database:    first(values.Get("database"), r.Header.Get("X-ClickHouse-Database"), "default"),
		format:      first(values.Get("default_format"), r.Header.Get("X-ClickHouse-Format"), "TabSeparated"),
		queryID:     values.Get("query_id"),
		readonly:    r.Method != http.MethodPost,
		decompress:  truthy(values.Get("decompress")),
		waitForEnd:  truthy(values.Get("wait_end_of_query")),
		contentCode: strings.ToLower(r.Header.Get("Content-Encoding")),
	}
	if v := values.Get("readonly"); v != "" && v != "0" {
		req.readonly = true
	}
	if n, err := strconv.Atoi(values.Get("client_protocol_version")); err == nil && n > 0 {
		req.protocol = n
	}
	if truthy(values.Get("compress")) {
		req.compress = "lz4"
		if strings.EqualFold(values.Get("network_compression_method"), "zstd") {
			req.compress = "zstd"
		}
	}
	if !formatName(req.format) {
		return request{}, badRequest("the format name " + strconv.Quote(req.format) + " may hold letters and digits only")
	}
	if err := req.parseSettings(values); err != nil {
		return request{}, err
	}
	return req, nil
}

// parseSettings sorts the other URL parameters into settings and parameters of
// the statement, in the order of their names.
func (req *request) parseSettings(values url.Values) error {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := values.Get(name)
		switch {
		case bridgeOnly[name]:
		case strings.HasPrefix(name, "param_"):
			req.params = append(req.params, param{strings.TrimPrefix(name, "param_"), value})
		case strings.HasPrefix(name, "session_") && name != "session_timezone":
			return &Exception{Code: codeNotImplemented, Name: "NOT_IMPLEMENTED", Message: "the embedded engine keeps no sessions: leave out " + strconv.Quote(name)}
		case name == "user" || name == "password":
			return badRequest("give user and password as basic authentication, not in the URL")
		case !settingName.MatchString(name):
			return badRequest("the setting name " + strconv.Quote(name) + " may hold letters, digits and _ only")
		default:
			req.settings = append(req.settings, setting{name, value})
		}
	}
	return nil
}

func badRequest(message string) error {
	return &Exception{Code: codeBadArguments, Name: "BAD_ARGUMENTS", Message: message}
}

// formatName says whether s can be a format.
func formatName(s string) bool {
	for i := range len(s) {
		if !wordPart(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func truthy(s string) bool { return s == "1" || s == "true" }

// first returns the first string that is not empty.
func first(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}
