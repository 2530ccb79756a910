#!/usr/bin/env bash
# Installs, from Debian's own packages, what the tests need and this machine
# lacks: a PostgreSQL server, a C compiler (for the race detector), curl and an
# OCI registry of the oldest kind.
set -euo pipefail

has_postgres() {
	command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

missing=()
has_postgres || missing+=(postgresql)
command -v "$(go env CC)" >/dev/null || missing+=(gcc libc6-dev)
command -v curl >/dev/null || missing+=(curl)
command -v docker-registry >/dev/null || missing+=(docker-registry)
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
