# Docket. "make help" lists what there is.
SHELL := /bin/sh
.DEFAULT_GOAL := help

BIN := bin
TOOLS := $(CURDIR)/.cache/tools
COMMANDS := docket proxy evaluator localclickhouse
FUZZTIME ?= 10000x
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

##@ Use

.PHONY: help
help: ## list the commands
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build libchdb-unless-store ## proxy, evaluator and embedded ClickHouse on this machine; data in ./data
	@exec $(BIN)/docket run

.PHONY: demo
demo: build libchdb-unless-store ## everything with scripted traffic and no key; data in ./data-demo
	@exec $(BIN)/docket demo

.PHONY: build
build: ## build the commands into ./bin
	@mkdir -p $(BIN)
	@echo "building; the first time takes minutes"
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o $(BIN)/ $(addprefix ./cmd/,$(COMMANDS))

.PHONY: libchdb
libchdb: ## fetch the embedded ClickHouse engine (178 MB, once)
	@sh scripts/fetch-libchdb.sh

.PHONY: libchdb-unless-store
libchdb-unless-store:
	@if [ -z "$$DOCKET_STORE" ] && [ -z "$$DOCKET_LIBCHDB" ]; then sh scripts/fetch-libchdb.sh; fi

##@ Test

.PHONY: test
test: parts gate ## everything; first lists what is missing, and fails on it
	@sh scripts/test.sh all

.PHONY: test-go
test-go: ## what needs only Go; says what it left out
	@sh scripts/test.sh go

.PHONY: test-server
test-server: ## the store's tests against a ClickHouse server: make test-server DSN=http://user:pass@host:8123/
	@[ -n "$(DSN)" ] || { echo "usage: make test-server DSN=http://user:pass@host:8123/"; exit 2; }
	DOCKET_TEST_STORE="$(DSN)" go test -count=1 -shuffle=on ./internal/store/...

.PHONY: fuzz
fuzz: ## every fuzz test for FUZZTIME (10000x inputs, or a time: 1m)
	@sh scripts/fuzz.sh $(FUZZTIME)

.PHONY: torture
torture: build ## 10,000 streams and repeated kills under load; takes a while
	DOCKET_TEST_TORTURE=1 go test -count=1 -timeout 60m ./internal/proxy/... ./e2e/...

.PHONY: bench
bench: build ## the proxy beside the floors: the ratios of bench/README.md
	@sh bench/ours.sh $(ARGS)

.PHONY: parts
parts: ## list what the tests need and this machine lacks
	@sh scripts/parts.sh

##@ Code

.PHONY: fmt
fmt: $(TOOLS)/stamp ## format the sources
	@$(TOOLS)/gofumpt -w $$(git ls-files -co --exclude-standard '*.go')

.PHONY: gate
gate: $(TOOLS)/stamp ## format, vet, staticcheck, arrows between packages, dead code
	@TOOLS=$(TOOLS) sh scripts/gate.sh

.PHONY: lint
lint: ## golangci-lint, the second opinion (builds it first: minutes)
	go -C tools/golangci build -o $(TOOLS)/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	$(TOOLS)/golangci-lint run ./...

.PHONY: update
update: ## rewrite the wanted outputs of tests; review their diff as code
	go test ./internal/config ./e2e/readme -update

.PHONY: clean
clean: ## remove what was built; data stays
	rm -rf $(BIN) $(TOOLS)

$(TOOLS)/stamp: tools/go.mod tools/go.sum
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) GOFLAGS=-mod=mod go -C tools install tool
	@touch $@
