#!/usr/bin/env bash
# Usage: tools/cross.sh MAX_BYTES OS/ARCH...
# Builds the stripped binary for each platform without cgo, and reports the
# sizes. A binary of more than MAX_BYTES fails.
set -euo pipefail
cd "$(dirname "$0")/.."

max=$1
shift
mkdir -p build
failed=0
for platform in "$@"; do
	os=${platform%/*} arch=${platform#*/}
	out=build/countersign-$os-$arch
	GOOS=$os GOARCH=$arch CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$out" ./cmd/countersign
	size=$(wc -c <"$out")
	printf 'size: %-14s %d bytes of at most %d\n' "$platform" "$size" "$max"
	if ((size > max)); then
		failed=1
	fi
done
if ((failed)); then
	echo "a stripped binary is too large; see what grew with: go version -m build/countersign-linux-amd64" >&2
	exit 1
fi
