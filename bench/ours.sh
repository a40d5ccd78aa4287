#!/bin/sh
# Measures Docket's proxy with full capture, the store up, beside the floors;
# then its memory with the store stopped. Built commands are expected in ./bin.
#   bench/ours.sh [flags of the suite, e.g. -phases 'amax|bmax' -rounds 1]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
bin=$root/bin
tmp=$(mktemp -d)
engine=
cleanup() {
	if [ -n "$engine" ]; then
		kill "$engine" 2>/dev/null || true
		wait "$engine" 2>/dev/null || true
	fi
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

cd "$root"
store=${DOCKET_STORE:-}
if [ -z "$store" ]; then
	"$bin/localclickhouse" --listen 127.0.0.1:0 --data "$tmp/clickhouse" --port-file "$tmp/port" >"$tmp/engine.log" 2>&1 &
	engine=$!
	tries=0
	until [ -s "$tmp/port" ]; do
		tries=$((tries + 1))
		if [ $tries -gt 600 ] || ! kill -0 "$engine" 2>/dev/null; then
			cat "$tmp/engine.log" >&2
			exit 1
		fi
		sleep 0.1
	done
	store=http://default:$(cat "$tmp/clickhouse/password")@$(cat "$tmp/port")/docket
fi
unset DOCKET_STORE

listen=127.0.0.1:8090
ops=127.0.0.1:8092
backlog="http://$ops/metrics docket_capture_backlog_records"
proxy="$bin/proxy --listen $listen --ops-listen $ops --upstream http://127.0.0.1:9901/v1"

echo "## with the store up"
# The DSN goes by the environment: arguments can be read by every user.
DOCKET_STORE=$store sh "$here/run.sh" -name docket -url "http://$listen" -cmd "$proxy --spool $tmp/spool" \
	-backlog "$backlog" -phases '^(a2000|amax|bmax|c200|d40)$' "$@"

echo
echo "## with the store stopped: memory"
DOCKET_STORE=http://default:none@127.0.0.1:9/docket sh "$here/run.sh" -name docket -url "http://$listen" \
	-cmd "$proxy --spool $tmp/spool-alone" -floors '' -phases '^(amax|c200|d40|dmax)$' -rounds 1 -memory
