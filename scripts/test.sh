#!/bin/sh
# scripts/test.sh all: every test, under the race detector where Go allows it.
# scripts/test.sh go: what needs only Go, and a list of what was left out.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

# Packages that need more than Go: the engine, client SDKs, a browser.
needs_parts='^docket/(e2e|e2e/judge|cmd/(proxy|evaluator|localclickhouse)|internal/store|internal/localclickhouse)$|^docket/internal/store/'

case ${1:-all} in
go)
	pkgs=$(go list ./... | grep -Ev "$needs_parts")
	race=
	if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; then race=-race; fi
	# shellcheck disable=SC2086
	go test $race -shuffle=on $pkgs
	echo
	echo "left out (make test runs them):"
	go list ./... | grep -E "$needs_parts" | sed 's/^/  /'
	[ -n "$race" ] || echo "  the race detector: it needs a C compiler"
	echo "  the gate (make gate), fuzzing (make fuzz), benchmarks"
	;;
all)
	echo "test: all packages under the race detector"
	# Binaries with the race detector wait a second at their end, for nothing here.
	export GORACE="${GORACE:-atexit_sleep_ms=0}"
	go test -race -shuffle=on $(go list ./... | grep -Ev '^docket/e2e(/judge)?$')
	echo "test: fuzz, ${FUZZTIME:-2s} each"
	sh scripts/fuzz.sh "${FUZZTIME:-2s}"
	echo "test: every benchmark once"
	go test -run '^$' -bench . -benchtime 1x ./internal/... >/dev/null
	go -C bench vet ./...
	go -C bench test -run '^$' -bench . -benchtime 1x ./micro >/dev/null
	echo "test: end to end"
	go test -count=1 -shuffle=on -timeout 8m ./e2e ./e2e/judge
	;;
*)
	echo "usage: scripts/test.sh all | go" >&2
	exit 2
	;;
esac
