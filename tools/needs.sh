#!/usr/bin/env bash
# Installs, from Debian's own packages, what the tests need and this machine
# lacks: a PostgreSQL server, a C compiler (for the race detector), curl, an OCI
# registry of the oldest kind, a browser, and the shells zsh and fish. What is
# only run by tests and would start a service when installed is unpacked into
# build/needs.
set -euo pipefail
cd "$(dirname "$0")/.."

./tools/unpack.sh build/needs prometheus prometheus promtool
./tools/unpack.sh build/needs prometheus-alertmanager prometheus-alertmanager

has_postgres() {
	command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

missing=()
has_postgres || missing+=(postgresql)
command -v "$(go env CC)" >/dev/null || missing+=(gcc libc6-dev)
command -v curl >/dev/null || missing+=(curl)
command -v docker-registry >/dev/null || missing+=(docker-registry)
command -v chromium >/dev/null || missing+=(chromium)
for shell in zsh fish; do
	command -v "$shell" >/dev/null || missing+=("$shell")
done
if ((${#missing[@]} == 0)); then
	exit 0
fi

as_root=()
if ((EUID != 0)); then
	if ! command -v sudo >/dev/null; then
		echo "the tests need ${missing[*]}, and there is neither root nor sudo to install it;" >&2
		echo "ask an administrator for: apt-get install ${missing[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
fi
if ! command -v apt-get >/dev/null; then
	echo "the tests need ${missing[*]}; this machine has no apt-get, so install it by hand" >&2
	exit 1
fi
echo "installing what the tests need: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
has_postgres || { echo "PostgreSQL is installed, but its initdb is not where the tests look for it" >&2; exit 1; }
