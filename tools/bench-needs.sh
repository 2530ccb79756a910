#!/usr/bin/env bash
# Fetches what only the measurements need: blackbox_exporter, from Debian's own
# package, into the folder given.
set -euo pipefail

folder=$1
program=prometheus-blackbox-exporter
"$(dirname "$0")/unpack.sh" "$folder" "$program" "$program"
if [[ ! -x "$folder/$program" ]]; then
	mkdir -p "$folder"
	ln -sf "$(command -v "$program")" "$folder/$program"
fi
