#!/bin/sh
# scripts/test.sh all: every test, under the race detector where Go allows it.
# scripts/test.sh go: what needs only Go, and a list of what was left out.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

# A number of inputs: at the end of a time, Go 1.26 may fail for nothing
# (golang/go#75804).
fuzztime=${FUZZTIME:-10000x}
# Binaries with the race detector wait a second at their end, for nothing here.
export GORACE="${GORACE:-atexit_sleep_ms=0}"

# End to end: built programs, client SDKs, a browser. e2e/readme needs only Go.
end_to_end=$(go list ./e2e/... | grep -v '/e2e/readme$')
packages=$(go list ./... | grep -Ev '^docket/e2e(/|$)'; echo docket/e2e/readme)
# Packages whose tests start the embedded engine.
engine='^docket/(cmd/(proxy|evaluator|localclickhouse)|internal/localclickhouse|internal/store(/.*)?)$'

step() { echo "test: $*"; }

# shellcheck disable=SC2086
case ${1:-all} in
go)
	race=
	if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null 2>&1; then race=-race; fi
	go test $race -shuffle=on $(echo "$packages" | grep -Ev "$engine")
	echo
	echo "left out (make test runs them):"
	{
		echo "$packages" | grep -E "$engine"
		echo "$end_to_end"
	} | sed 's/^/  /'
	[ -n "$race" ] || echo "  the race detector: it needs a C compiler"
	echo "  the gate (make gate), fuzzing (make fuzz), benchmarks"
	;;
all)
	step "packages under the race detector"
	go test -race -shuffle=on -timeout 40m $packages
	step "fuzz, $fuzztime each"
	sh scripts/fuzz.sh "$fuzztime"
	step "every benchmark once"
	go test -run '^$' -bench . -benchtime 1x ./internal/... >/dev/null
	go -C bench vet ./...
	go -C bench test -run '^$' -bench . -benchtime 1x ./micro >/dev/null
	step "end to end"
	go test -count=1 -shuffle=on -timeout 40m $end_to_end
	;;
*)
	echo "usage: scripts/test.sh all | go" >&2
	exit 2
	;;
esac
