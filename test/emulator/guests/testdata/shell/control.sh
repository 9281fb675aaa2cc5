if true; then echo yes; else echo no; fi
%%
if false; then echo 1; elif [ 1 = 1 ]; then echo 2; else echo 3; fi
%%
for i in a b c; do echo $i; done
%%
for i in; do echo never; done; echo end
%%
set -- x y; for i; do echo $i; done
%%
for i in 1 2 3 4; do [ $i = 2 ] && continue; [ $i = 4 ] && break; echo $i; done
%%
for i in 1 2; do for j in a b; do [ $j = b ] && continue 2; echo $i$j; done; done
%%
for i in 1 2; do for j in a b; do break 2; done; done; echo $i$j
%%
i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done
%%
i=3; until [ $i -eq 0 ]; do echo $i; i=$((i-1)); done; echo $?
%%
while read -r line; do echo "<$line>"; done <<EOF
one
  two  
three\four
EOF
%%
printf 'a b c\nd e\n' | while read x y; do echo "$x-$y"; done
%%
printf 'last line without newline' | while read -r l; do echo "$l"; done; echo end
%%
printf 'x' | { while read -r l || [ -n "$l" ]; do echo "got $l"; done; }
%%
case abc in a*) echo a;; *) echo other;; esac
%%
case "$X" in "") echo empty;; esac; case x in y|x) echo yx;; esac
%%
case "a b" in "a b") echo exact;; esac; case [x] in \[*) echo bracket;; esac
%%
case 5 in [0-9]) echo digit;; [a-z]) echo letter;; esac
%%
case x in (x) echo paren;; esac
%%
case linux-amd64 in *-arm64) echo arm;; *-amd64) echo amd;; esac
%%
# bash
case a in a) echo 1;& b) echo 2;; c) echo 3;; esac; case a in a) echo 1;;& a) echo again;; esac
%%
f() { echo "in f $1 $#"; return 3; }; f x y; echo $?
%%
f() { local x=1; x=2; echo $x; }; x=0; f; echo $x
%%
f() { x=5; }; x=0; f; echo $x
%%
f() { local a b=2; echo "[$a][$b]"; }; f
%%
f() { local X="$1"; echo "$X"; }; f "a b"
%%
Y="a b"; f() { local X=$Y; echo "$X"; }; f
%%
f() { echo "$@"; shift; echo "$1"; }; f 1 2 3; echo "outer $#"
%%
f() { if [ $1 -le 1 ]; then echo 1; else echo $(( $1 * $(f $(($1-1))) )); fi; }; f 5
%%
f() { return; }; false; f; echo $?
%%
f() { cat; }; echo piped | f
%%
f() { echo out; echo err >&2; }; f 2>/dev/null; X=$(f 2>&1); echo "$X"
%%
f() { [ "$1" = ok ]; }; f ok && echo good; f bad || echo bad
%%
function g { echo keyword; }; g
%%
# bash
function g() { echo "both $1"; }; g 1
%%
{ echo a; echo b; } | tr a-z A-Z
%%
(X=1; echo $X); echo "[$X]"
%%
(exit 5); echo $?
%%
true && echo a || echo b; false && echo a || echo b
%%
false || { echo fallback; false; }; echo $?
%%
! true; echo $?; ! false; echo $?
%%
if ! grep -q x /dev/null; then echo none; fi
%%
true; echo $?; false; echo $?; nosuchcommand 2>/dev/null; echo $?
%%
sleep 0.01 & wait; echo done
%%
(echo bg) & wait $!; echo "st $?"
%%
(exit 7) & wait $!; echo $?
%%
exit 3
%%
(echo sub; exit 4); echo $?; exit
%%
echo before; exit 0; echo after
%%
set -e; echo a; false; echo b
%%
set -e; false || true; if false; then :; fi; ! true; echo alive
%%
set -e; f() { false; echo in; }; f; echo after
%%
set -e; f() { false; echo in; }; f || echo failed; echo after
%%
set -e; X=$(false); echo after
%%
set -e; echo $(false); echo after
%%
set -e; f() { local X=$(false); echo local hides; }; f
%%
set -e; (false; echo in); echo after
%%
set -e; false | true; echo pipe ok
%%
set -e; true | false; echo never
%%
set -o pipefail; false | true; echo $?
%%
# bash
set -euo pipefail; echo start; echo "${X:-none}"; false | cat; echo never
%%
# bash
set -o pipefail; (exit 3) | (exit 4) | true; echo $?
%%
# bash
set -Eeuo pipefail; trap 'echo "err $?"' ERR; echo a; false; echo b
%%
trap 'echo bye' EXIT; echo hi
%%
trap 'echo "code $?"' EXIT; exit 6
%%
trap 'rm -f tmpf; echo cleaned' EXIT; touch tmpf; false
%%
set -e; trap 'echo trap $?' EXIT; false; echo never
%%
trap 'echo x' EXIT; trap - EXIT; echo no trap
%%
trap '' INT TERM; trap 'echo t' HUP; echo set
%%
trap 'echo sig' INT QUIT TERM EXIT; echo body
%%
(trap 'echo sub exit' EXIT; echo in sub); echo out
%%
f() { trap 'echo from f' EXIT; }; f; echo end
%%
# bash
trap 'echo ERR' ERR; false; true; false || true; echo end
%%
eval "X=1; echo \$X"; eval; echo $?
%%
eval 'for i in 1 2; do echo $i; done'
%%
eval "exit 4"; echo no
%%
echo 'Y=5; echo sourced $1' > lib.sh; . ./lib.sh; echo $Y
%%
echo 'return 3; echo no' > lib.sh; . ./lib.sh; echo $?
%%
echo 'f() { echo lib f; }' > lib.sh; . ./lib.sh; f
%%
. ./missing.sh 2>/dev/null; echo after
%%
# bash
echo 'echo "args $@"' > lib.sh; source ./lib.sh a b; echo "$#"
%%
echo 'echo script $0 $1' > s.sh; sh s.sh arg
%%
printf '#!/bin/sh\necho run $#\nexit 9\n' > s.sh; chmod +x s.sh; ./s.sh a b; echo $?
%%
printf '#!/bin/bash\n[[ a == a ]] && echo bash\n' > s.sh; chmod 755 s.sh; ./s.sh
%%
printf '#!/usr/bin/env bash\nset -euo pipefail\necho "env ${1:-none}"\n' > s.sh; chmod +x s.sh; ./s.sh; ./s.sh x
%%
printf 'echo no shebang\n' > s.sh; chmod +x s.sh; ./s.sh
%%
echo 'echo x' > s.sh; ./s.sh 2>/dev/null; echo $?
%%
sh -c 'echo $0 $1 $#' name a b
%%
sh -ec 'false; echo no'; echo $?
%%
bash -c 'set -o pipefail; false | true'; echo $?
%%
bash -euo pipefail -c 'echo a; false; echo b'; echo $?
%%
echo 'echo from stdin; exit 2' | sh; echo $?
%%
sh -s a b <<'EOF'
echo $1 $2
EOF
%%
command -v sh >/dev/null && echo found; command -v no-such >/dev/null || echo "st $?"
%%
command -v cd; command -v if; f() { :; }; command -v f
%%
type cd >/dev/null && echo builtin; type nosuch >/dev/null 2>&1; echo $?
%%
command echo hi; echo() { command echo "wrapped $@"; }; echo x
%%
which sh >/dev/null && echo yes; which nosuchprog; echo $?
%%
while :; do echo once; break; done
%%
n=0; while true; do n=$((n+1)); if [ $n -ge 3 ]; then break; fi; done; echo $n
%%
until false; do echo x; break; done
%%
return 2>/dev/null; echo after return
%%
while getopts "ab:c" opt -a -b val -c rest; do echo "$opt ${OPTARG:-}"; done; echo $OPTIND
%%
set -- -v -f file arg; while getopts vf: o; do case $o in v) echo verbose;; f) echo "file $OPTARG";; esac; done; shift $((OPTIND-1)); echo "$1"
%%
set -- -x; while getopts :a o; do echo "$o $OPTARG"; done
%%
set -- -b; while getopts :b: o; do echo "$o $OPTARG"; done
%%
while [ $# -gt 0 ]; do echo $1; shift; done; set -- p q; while [ "$#" -gt 0 ]; do case "$1" in p) echo P; shift;; *) echo other; shift;; esac; done
%%
for f in 1 2 3; do echo $f; done | tail -1
%%
for i in $(seq 1 3); do printf '%s ' $i; done; echo
%%
i=0; for x in a b; do i=$((i+1)); done; echo $i
%%
seq 3 | while read n; do sum=$((sum+n)); done; echo "[$sum]"
%%
echo a b | read x y; echo "[$x]"
%%
if [ -z "$X" ] && [ -n "y" ]; then echo both; fi
%%
test 1 -eq 1 && test 2 -gt 1; echo $?
%%
: ; echo $?; : > empty; test -f empty && echo made
%%
# bash
[[ abc == a* ]] && echo glob; [[ abc == "a*" ]] || echo literal; [[ abc =~ ^a(.)c$ ]] && echo "${BASH_REMATCH[1]}"
%%
# bash
[[ -n "x" && ( 1 -lt 2 || -f none ) ]] && echo and; [[ ! -e none ]] && echo not
%%
# bash
[[ "a" < "b" ]] && echo less; [[ 10 -gt 9 ]] && echo num; X="v1.2"; [[ $X =~ v([0-9]+)\.([0-9]+) ]] && echo ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}
%%
# bash
select x in a b; do echo "got $x"; break; done <<< 2 2>/dev/null
%%
# bash
time true 2>/dev/null; echo "st $?"
%%
# bash
coproc cat; echo x
%%
# bash
X=5; ((X--)); echo $X; ((X+=10)); echo $X; if ((X > 10)); then echo gt; fi
%%
# bash
set -e; ((i=0)); echo never
%%
# bash
retry() { local n=0; until "$@"; do n=$((n+1)); [[ $n -ge 3 ]] && return 1; done; }; retry false; echo $?
%%
# bash
pushd / >/dev/null; pwd; popd >/dev/null; basename "$PWD" | wc -l
