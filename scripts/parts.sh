#!/bin/sh
# Lists everything that the tests need and this machine lacks, each with the
# line that installs it, and fails if there is anything. -q prints only names.
quiet=${1:-}
root=$(cd "$(dirname "$0")/.." && pwd)
missing=0

lacks() { # name, install line
	missing=1
	if [ "$quiet" = -q ]; then
		echo "$1"
		return
	fi
	[ "$missing_said" = 1 ] || echo "missing parts:"
	missing_said=1
	printf '  %-28s %s\n' "$1" "$2"
}
missing_said=0

has() { command -v "$1" >/dev/null 2>&1; }

has go || lacks go "install Go 1.26 or newer"
has gcc || lacks gcc "apt-get install gcc libc6-dev      (for the race detector)"
has g++ || lacks g++ "apt-get install g++      (for a model server of the tests)"
has git || lacks git "apt-get install git"
has python3 || lacks python3 "apt-get install python3 python3-venv"
python=$root/.venv/bin/python
if [ ! -x "$python" ] || [ -n "$("$python" "$root/scripts/missing.py" "$root"/e2e/*/requirements.txt)" ]; then
	lacks "python packages" "python3 -m venv .venv && for f in e2e/*/requirements.txt; do .venv/bin/pip install --no-deps -r \$f; done"
fi
has node || lacks node "apt-get install nodejs npm"
for lock in "$root"/e2e/*/package-lock.json; do
	dir=$(dirname "$lock")
	# npm writes the inner one when it is done.
	[ -f "$dir/node_modules/.package-lock.json" ] && [ ! "$lock" -nt "$dir/node_modules/.package-lock.json" ] ||
		lacks "node packages" "(cd ${dir#"$root"/} && npm ci)"
done
has chromium || lacks chromium "apt-get install chromium"
if [ -z "${DOCKET_LIBCHDB:-}" ] && [ ! -f "$root/.cache/libchdb/libchdb.so" ]; then
	lacks libchdb "make libchdb      (or DOCKET_LIBCHDB=/path/to/libchdb.so)"
fi
exit $missing
