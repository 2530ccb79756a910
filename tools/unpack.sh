#!/usr/bin/env bash
# Has programs of one of Debian's packages in a folder, without installing the
# package, since it would start a service. What is on PATH already is left alone.
#
#   tools/unpack.sh FOLDER PACKAGE PROGRAM...
set -euo pipefail

folder=$1 package=$2
shift 2

missing=()
for program in "$@"; do
	command -v "$program" >/dev/null || [[ -x "$folder/$program" ]] || missing+=("$program")
done
if ((${#missing[@]} == 0)); then
	exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
	echo "${missing[*]} is needed, of Debian's package $package; this machine has no apt-get, so put it on PATH by hand" >&2
	exit 1
fi
echo "unpacking ${missing[*]} of $package into $folder"
mkdir -p "$folder"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get download -qq "$package" 2>/dev/null || {
	if ((EUID == 0)); then apt-get update -qq; else sudo apt-get update -qq; fi
	apt-get download -qq "$package"
}
dpkg-deb -x "$package"_*.deb unpacked
cd - >/dev/null
for program in "${missing[@]}"; do
	install -m 755 "$scratch/unpacked/usr/bin/$program" "$folder/"
done
