#!/usr/bin/env bash
# Runs the client for Windows (bin/casement.exe) under wine. Where wine is missing Debian's
# package is installed, which needs root; where it cannot be, this says why and succeeds.
# wine before 8.13 has no bcryptprimitives.dll, which programs of Go 1.22 and later need: a
# library that forwards its one function to advapi32.dll is made for it.
set -euo pipefail
cd "$(dirname "$0")/.."
skip() { echo "skipped: $*"; exit 0; }
install() { # PACKAGE...
  command -v apt-get >/dev/null || skip "there is no $1, and no apt-get to install it"
  [ "$(id -u)" = 0 ] || skip "there is no $1, and installing it needs root"
  apt-get update -q && apt-get install -q -y --no-install-recommends "$@" || skip "$1 cannot be installed"
}
[ "$(uname -m)" = x86_64 ] || skip "the program is for amd64, and this machine is $(uname -m)"
command -v wine >/dev/null || install wine wine64
export WINEPREFIX WINEDEBUG=-all WINEARCH=win64 WINEDLLOVERRIDES=mscoree,mshtml=
WINEPREFIX=$(mktemp -d)
trap 'wineserver -k 2>/dev/null || true; rm -rf "$WINEPREFIX"' EXIT
wine --version
wineboot --init
system=$WINEPREFIX/drive_c/windows/system32
if [ ! -e "$system/bcryptprimitives.dll" ]; then
  linker=x86_64-w64-mingw32-ld
  command -v $linker >/dev/null || install binutils-mingw-w64-x86-64
  printf 'LIBRARY bcryptprimitives.dll\nEXPORTS\nProcessPrng=advapi32.SystemFunction036\n' > "$WINEPREFIX/prng.def"
  $linker -shared -e 0 "$WINEPREFIX/prng.def" -o "$system/bcryptprimitives.dll"
fi
go test -timeout 20m -count=1 -v ./test/e2e/client -run TestWindows -wine "$(command -v wine)"
