#!/usr/bin/env bash
# Usage: tools/fuzz.sh INPUTS
# Runs every fuzz target of the repository with that many inputs. A number, and not a
# time: at the end of a time Go 1.26 can report a target as failed with "context deadline
# exceeded" although no input failed (https://go.dev/issue/75804, fixed in Go 1.27).
set -euo pipefail
cd "$(dirname "$0")/.."

ran=0
while IFS=: read -r file target; do
	echo "fuzz: $target in $(dirname "$file")"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "${1}x" "./$(dirname "$file")" </dev/null
	ran=$((ran + 1))
done < <(find . -name '*_test.go' -not -path '*/node_modules/*' -print0 |
	xargs -0 grep -oE '^func Fuzz[A-Za-z0-9_]+' | sed 's|^\./||; s|func ||' | sort)
if ((ran == 0)); then
	echo "found no fuzz target" >&2
	exit 1
fi
echo "fuzz: $ran targets, $1 inputs each"
