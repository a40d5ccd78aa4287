#!/bin/sh
# Runs every fuzz test for a number of inputs, or for a time: scripts/fuzz.sh
# [10000x]. At the end of a time, Go 1.26 may fail for nothing (golang/go#75804).
set -eu
for_each=${1:-10000x}
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
