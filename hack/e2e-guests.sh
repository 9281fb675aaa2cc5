#!/usr/bin/env bash
# Compares guests with the real programs (test/emulator/guests). Where cloud-init is missing
# Debian's package and the Python packages that it needs are unpacked into a folder that is
# removed afterwards: nothing is installed, and none of its services runs here. Shells that
# are missing are installed, which needs root. PWSH names a PowerShell; with -update its answers
# are recorded again, with -scripts=FILE it is asked other scripts, and without it 3,000 generated ones as well.
set -euo pipefail
cd "$(dirname "$0")/.."
missing=()
for program in dash bash jq python3; do
	command -v "$program" >/dev/null || missing+=("$program")
done
if ((${#missing[@]})); then
	apt-get update -q
	apt-get install -q -y --no-install-recommends "${missing[@]}"
fi
if [ -z "${CLOUD_INIT_PYTHONPATH:-}" ] && ! python3 -c 'import cloudinit' 2>/dev/null; then
	unpacked=$(mktemp -d)
	trap 'rm -rf "$unpacked"' EXIT
	apt-get update -q
	(cd "$unpacked" && apt-get download -q cloud-init python3-attr python3-configobj python3-jinja2 python3-json-pointer \
		python3-jsonpatch python3-jsonschema python3-markupsafe python3-oauthlib python3-pyrsistent python3-requests \
		python3-serial python3-six python3-urllib3 python3-certifi python3-chardet python3-idna python3-yaml)
	for package in "$unpacked"/*.deb; do
		dpkg -x "$package" "$unpacked"
	done
	export CLOUD_INIT_PYTHONPATH=$unpacked/usr/lib/python3/dist-packages
fi
go test -timeout 60m -count=1 -v ./test/emulator/guests -real ${PWSH:+-pwsh="$PWSH"} "$@"
