#!/bin/sh
# Runs every fuzz test for a few seconds: scripts/fuzz.sh [3s]
set -eu
for_each=${1:-3s}
for pkg in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./internal/...); do
	dir=$(go list -f '{{.Dir}}' "$pkg")
	for name in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //' | sort -u); do
		echo "fuzz: $pkg $name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$for_each" -parallel 2 "$pkg" >"${TMPDIR:-/tmp}/fuzz.$$" 2>&1 || {
			cat "${TMPDIR:-/tmp}/fuzz.$$"
			exit 1
		}
	done
done
rm -f "${TMPDIR:-/tmp}/fuzz.$$"
