#!/bin/sh
# The first gate: cheap checks of the sources. TOOLS is the folder of the
# pinned tools.
set -eu

step() { echo "gate: $*"; }

step gofumpt
unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs "$TOOLS/gofumpt" -l)
if [ -n "$unformatted" ]; then
	echo "not formatted (make fmt):"
	echo "$unformatted"
	exit 1
fi

step go vet
go vet ./...

step staticcheck
"$TOOLS/staticcheck" ./...

step arrows between packages
go test ./internal/archtest

step dead code
dead=$("$TOOLS/deadcode" -test ./...)
if [ -n "$dead" ]; then
	echo "nothing reaches these functions:"
	echo "$dead"
	exit 1
fi
