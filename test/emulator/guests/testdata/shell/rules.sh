# bash
set -e
if true; then [ a = b ] && echo x; fi; echo still1
for i in 1; do [ a = b ] && echo x; done; echo still2
{ [ a = b ] && echo x; }; echo still3
case a in a) [ a = b ] && echo x;; esac; echo still4
f() { [ a = b ] && echo x; return 0; }; f; echo still5
for ((i=0;i<1;i++)); do [ a = b ] && echo x; done; echo still6
while :; do [ a = b ] && echo x; break; done; echo still7
if [ a = b ]; then echo x; elif false; then echo y; fi; echo still8
( [ a = b ] && echo x ) || echo sub
{ false || false; } || echo still9
%%
# bash
set -e
f() { local n=0; while [ $n -lt 2 ]; do n=$((n+1)); [ $n -gt 5 ] && echo x; done; }
f || echo "f $?"
g() { for i in 1 2; do [ $i = 9 ] && echo x; done; }; g || echo "g $?"
for ((i=0;i<3;i++)); do [ $i = 1 ] && continue; [ $i = 2 ] && break; done; echo "c $?"
while read -r x; do [ "$x" = b ] && break; done <<< $'a\nb'; echo "b $?"
n=0; until [ $n -ge 3 ]; do n=$((n+1)); [ $n = 2 ] && echo two; done; echo "after"
while [ $n -lt 6 ]; do n=$((n+1)); [ $n = 100 ] && echo x; done
%%
# bash
echo "still"
IFS=: read -r a b c <<< "1::3:"; echo "[$a][$b][$c]"; IFS=, read -ra p <<< "a,b,,c,"; echo ${#p[@]}; IFS=: read a b <<< "1::3:"; echo "[$a][$b]"
IFS=: read -r u x rest <<< "root:x:0:0:root:/root:/bin/bash"; echo "$u $rest"; IFS='= ' read -r k v <<< "key = val ue "; echo "[$k][$v]"
%%
# bash
declare -A m=([a]=1 [b-c]=2); k=b-c; echo "${m[a]:-x} ${m[$k]:-y} ${m[zz]:-none} ${m[zz]:+set}${m[a]:+set} ${m[q]-d}"
a=(1 "" 3); echo "${a[0]:-x} ${a[1]:-empty} ${a[1]-unset} ${a[7]:-out} ${a[2]:+s}"; i=2; echo "${a[i]:-n} ${a[$i]:-n}"
n=f.txt; echo "${n/%.txt/} ${n/#f/} ${n/%x/}"; for f in a.txt b.txt; do echo "${f/%.txt/}"; done
for w in x y x; do m[$w]=$(( ${m[$w]:-0} + 1 )); done; echo ${m[x]} ${m[y]}; ((m[z]++)); echo "${m[z]}"; echo ${#m[@]}
%%
# bash
set -e
(false; echo go on) || echo never
if (false; echo go on2); then echo yes; fi
! (false; echo go3)
f() { false; echo f; }
f | cat || true
x=$(false; echo sub); echo "$x"
(exit 3) || echo "c $?"
while (false; true); do echo loop; break; done
(false; echo not) 
echo never
%%
# bash
mkdir d; touch .h a b; rm -f [!a]*; ls -A
touch f; rm -f f/; ls f
tar cf x.tar a; tar xf x.tar -C missing || echo no; ls -d missing || echo none
%%
# bash
cat > lib.sh <<'X'
if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then echo main runs; fi
echo "${BASH_SOURCE[0]} ${BASH_SOURCE%.sh} $LINENO"
X
. ./lib.sh; echo $LINENO; f() { echo ${FUNCNAME[0]}; }; f
%%
# bash
mkdir bin; printf '#!/bin/sh\necho wrapped "$@"\n' > bin/curl; chmod +x bin/curl; PATH=$PWD/bin:$PATH; curl x
%%
# bash
x=aobo; echo ${x/o/&} "${x/o/\&}" "${x/o/\\&}" "${x//o/<&>}" "${x/o/\\n}"; y='a"b'; echo "${y//\"/\\\"}"
v=1.2-rc+b; echo ${v%%[-+]*} "${v//[-+]/_}"; n=f.txt; echo "${n/%.txt/} ${n/#f/}"
%%
# bash
env -u HOME bash -c 'echo "${HOME-unset}"'; echo '{"b":1,"a":2}' | jq -c 'to_entries, [.[]], add'
awk 'BEGIN{n=split("a[b]c",p,/[\[\]]/); print n, p[2]; exit 3} END{print "end"}'; echo $?
seq 9 | sed -n '4,~4p' | tr '\n' ' '; printf 'a\n' | sed '1i\x\ny'
%%
# bash
date -u -d '2024-02-28 +1 day' +%F; date +%F extra 2>/dev/null; echo $?
%%
# bash
IFS=: read -r u x rest <<< "root:x:0:0::/root:"; echo "$u [$rest]"; IFS=, read -ra p <<< "a,,b,"; echo ${#p[@]}; IFS='= ' read -r k v <<< "key = val ue "; echo "[$k][$v]"
%%
# bash
mkdir -p d/e; touch d/a.txt d/b.sh d/e/c.txt; chmod 755 d/b.sh; find d -path '*/e/*'; find . -perm -u+x -type f; find d -type f -printf '%f %m %P\n' | sort; find d -name '[!a]*.txt'; find d -name '*.txt' -print -quit | wc -l; find d -bogus 2>/dev/null; echo $?; find d -type q 2>/dev/null; echo $?
