package archtest

// row is one package and what it may import of ours and of the modules that
// only some may use. "*" stands for any package below internal.
type row struct {
	pkg string
	may []string
}

// table lists every package of the module.
func table() []row {
	return []row{
		{"cmd/proxy", []string{"*"}},
		{"cmd/evaluator", []string{"*"}},
		{"cmd/localclickhouse", []string{"*"}},
		{"cmd/docket", []string{"*"}},
		{"e2e", []string{"*", "e2e/program"}},
		{"e2e/fieldcases", []string{"*", "e2e/program"}},
		{"e2e/judge", []string{"*", "e2e/program"}},
		{"e2e/program", nil},
		{"e2e/readme", []string{"*"}},
		{"e2e/sdk", []string{"*", "e2e/program"}},

		{"internal/record", nil},
		{"internal/wire", []string{"internal/record"}},
		{"internal/proxy", []string{"internal/record", "internal/capture"}},
		{"internal/capture", []string{"internal/record", "internal/wire", "internal/redact", "internal/price"}},
		{"internal/spool", []string{"internal/record"}},
		{"internal/redact", []string{"internal/record"}},
		{"internal/price", []string{"internal/record"}},
		{"internal/store", []string{"internal/record"}},
		{"internal/sampling", []string{"internal/record"}},
		{"internal/judge", []string{"internal/record"}},
		{"internal/evaluate", []string{"internal/record", "internal/sampling", "internal/judge"}},
		{"internal/quality", []string{"internal/record"}},
		{"internal/query", []string{"internal/record", "internal/quality"}},
		{"internal/localclickhouse", nil},
		{"internal/config", nil},
		{"internal/telemetry", []string{"internal/record"}},
		{"internal/archtest", nil},

		{"internal/upstreamtest", nil},
		{"internal/leaktest", nil},
		{"internal/store/storetest", []string{"internal/record", "internal/leaktest"}},
		{"internal/judge/judgetest", []string{"internal/record", "internal/judge"}},
	}
}

// standardOnly lists packages that import nothing but the standard library and
// what their row allows.
func standardOnly() []string {
	return []string{"internal/record", "internal/price"}
}

// fakes may be imported by every test file.
func fakes() []string {
	return []string{"internal/upstreamtest", "internal/leaktest", "internal/store/storetest", "internal/judge/judgetest", "internal/record"}
}

// rule says that only some packages may import modules that begin with prefix.
type rule struct {
	prefix string
	only   []string
	why    string
}

func rules() []rule {
	return []rule{
		{"github.com/gin-gonic/gin", []string{"internal/proxy", "internal/query"}, "routers belong to the two servers"},
		{"github.com/ClickHouse/clickhouse-go", []string{"internal/store"}, "SQL lives in one package"},
		{"github.com/ClickHouse/ch-go", []string{"internal/localclickhouse", "internal/store"}, "the block codec belongs to the store and its embedded server"},
		{"github.com/sashabaranov/go-openai", []string{"internal/judge"}, "chat calls are the judge's"},
		{"github.com/ebitengine/purego", []string{"internal/localclickhouse"}, "foreign code is loaded in one process only"},
		{"go.yaml.in/yaml", []string{"internal/config", "internal/judge"}, "settings are read by config"},
		{"go.opentelemetry.io/otel/sdk", []string{"internal/telemetry"}, "the SDK is set up in one place"},
		{"go.opentelemetry.io/otel/exporters", []string{"internal/telemetry"}, "the SDK is set up in one place"},
		{"flag", []string{"cmd/proxy", "cmd/evaluator", "cmd/localclickhouse", "cmd/docket"}, "flags belong to commands"},
	}
}
