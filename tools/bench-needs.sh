#!/usr/bin/env bash
# Fetches what only the measurements need: blackbox_exporter, from Debian's own
# package. It is unpacked into the folder given and not installed, since the
# package would start a service.
set -euo pipefail

folder=$1
if [[ -x "$folder/prometheus-blackbox-exporter" ]]; then
	exit 0
fi
mkdir -p "$folder"
if installed="$(command -v prometheus-blackbox-exporter)"; then
	ln -s "$installed" "$folder/prometheus-blackbox-exporter"
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "the measurements need Debian's prometheus-blackbox-exporter; this machine has no apt-get, so install it by hand" >&2
	exit 1
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get download -qq prometheus-blackbox-exporter 2>/dev/null || {
	if ((EUID == 0)); then apt-get update -qq; else sudo apt-get update -qq; fi
	apt-get download -qq prometheus-blackbox-exporter
}
dpkg-deb -x prometheus-blackbox-exporter_*.deb unpacked
cd - >/dev/null
install -m 755 "$scratch/unpacked/usr/bin/prometheus-blackbox-exporter" "$folder/"
