#!/bin/sh
# Fetches the embedded ClickHouse engine (libchdb, Apache-2.0) into
# .cache/libchdb/libchdb.so: pinned, checked by its digest, not fetched twice.
#
# npm gets it from the registry that npm is configured for. Without npm, give
# the address of the same archive in DOCKET_LIBCHDB_URL, and curl gets it.
set -eu

package=@chdb/lib-linux-x64-gnu
version=26.7.3-stable.1
archive_sha256=c0d32b129e988f2b9a9a31c9141aecf5e1e2453f9a079efc4d36ab8e3f92b2ad

root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/.cache/libchdb
library=$dir/libchdb.so
stamp=$dir/version

say() { echo "libchdb: $*"; }
die() {
	echo "libchdb: $*" >&2
	exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

if [ -n "${DOCKET_STORE:-}" ]; then
	say "not fetched: DOCKET_STORE names a ClickHouse server"
	exit 0
fi
if [ -n "${DOCKET_LIBCHDB:-}" ]; then
	[ -f "$DOCKET_LIBCHDB" ] || die "DOCKET_LIBCHDB is $DOCKET_LIBCHDB, which is not a file"
	say "not fetched: DOCKET_LIBCHDB names a copy"
	exit 0
fi
if [ -f "$library" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$package@$version" ]; then
	say "$version is already in .cache/libchdb"
	exit 0
fi

case "$(uname -s)-$(uname -m)" in
Linux-x86_64 | Linux-amd64) ;;
*)
	die "no pinned copy for $(uname -s) $(uname -m): only Linux x86_64 with glibc is checked." \
		"Set DOCKET_LIBCHDB to a libchdb of 26.7.3 or later for this machine, or DOCKET_STORE to the DSN of a ClickHouse server."
	;;
esac
if ls /lib/ld-musl-* >/dev/null 2>&1 && ! ls /lib64/ld-linux-x86-64.so.2 >/dev/null 2>&1; then
	die "there is no libchdb for musl. Use a system with glibc, or set DOCKET_STORE to the DSN of a ClickHouse server."
fi

sha256() {
	if has sha256sum; then
		sha256sum "$1" | cut -d' ' -f1
	elif has shasum; then
		shasum -a 256 "$1" | cut -d' ' -f1
	else
		die "sha256sum is missing: install coreutils"
	fi
}

mkdir -p "$dir"
# Two of these at once would unpack over each other.
if has flock; then
	exec 9>"$dir/lock"
	flock 9
	if [ -f "$library" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$package@$version" ]; then
		say "$version is already in .cache/libchdb"
		exit 0
	fi
fi
rm -rf "$dir"/fetch.* # of a run that was killed
tmp=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

say "fetching $version (178 MB, 566 MB unpacked)"
if [ -n "${DOCKET_LIBCHDB_URL:-}" ]; then
	has curl || die "curl is missing: install it, or unset DOCKET_LIBCHDB_URL to use npm"
	curl -fsSL --retry 3 -o "$tmp/archive.tgz" "$DOCKET_LIBCHDB_URL" || die "cannot fetch DOCKET_LIBCHDB_URL"
elif has npm; then
	(cd "$tmp" && npm pack --silent --ignore-scripts "$package@$version" >/dev/null) || die "npm pack $package@$version did not work"
	mv "$tmp"/*.tgz "$tmp/archive.tgz"
else
	die "npm is missing: install it, or set DOCKET_LIBCHDB_URL to the address of the archive of $package $version (then curl is used)," \
		"or DOCKET_LIBCHDB to a copy, or DOCKET_STORE to the DSN of a ClickHouse server"
fi

got=$(sha256 "$tmp/archive.tgz")
[ "$got" = "$archive_sha256" ] || die "the archive is not the pinned one: SHA-256 $got, wanted $archive_sha256"
tar -xzf "$tmp/archive.tgz" -C "$tmp" package/libchdb.so
rm "$tmp/archive.tgz"
mv -f "$tmp/package/libchdb.so" "$library"
echo "$package@$version" >"$stamp"
say "unpacked to .cache/libchdb/libchdb.so"
