X=hello; echo ${X} ${#X} ${X%lo} ${X#he} ${X:-d} ${Y:-d} ${Y-d} ${X:+alt} ${Y:+alt}
%%
P=/a/b/c.tar.gz; echo ${P##*/} ${P%/*} ${P%%.*} ${P#*.} ${P##*.}
%%
unset X; echo "[${X-unset}]"; X=; echo "[${X-unset}] [${X:-empty}]"
%%
echo ${X:=5}; echo $X
%%
(echo ${MISSING:?is not set}; echo after) 2>/dev/null; echo $?
%%
X=abc; echo "${X%"c"}" "${X%'c'}" "${X#a*}"
%%
X='a*b'; echo "${X#a\*}" "${X%"*b"}"
%%
# bash
X=hello; echo ${X:1:3} ${X:2} ${X: -3} ${X:0:1} ${X/l/L} ${X//l/L} ${X/#he/HE} ${X/%lo/LO}
%%
# bash
X=hello; echo ${X^} ${X^^} ${X^^[aeiou]}; Y=WORLD; echo ${Y,} ${Y,,}
%%
# bash
A=B; B=value; echo ${!A}
%%
# bash
PRE_A=1; PRE_B=2; echo ${!PRE_*}
%%
X=${Y:-$(echo sub)}; echo $X
%%
X="a:b:c"; echo "${X%%:*}" "${X#*:}" "${X##*:}"
%%
echo ${X-"a  b"} "${X-a  b}" ${X-'c  d'}
%%
set -- a b c; echo $1 ${2} $# "${@}" ${3:-x} ${4:-y}
%%
set -- 1 2 3 4 5 6 7 8 9 10 11; echo $10 ${10} ${11}; shift 2; echo $1 $#
%%
set -- a b; shift; shift; echo "$#"; shift; echo "st $?"
%%
echo $((1+2*3)) $(( (1+2)*3 )) $((7/2)) $((7%3)) $((2-5)) $((1<<4)) $((0x1f)) $((010))
%%
X=5; echo $((X+1)) $(($X*2)) $((X++)) 2>/dev/null; echo $X
%%
X=3; Y=$((X > 2 ? 10 : 20)); echo $Y $((X==3)) $((X!=3)) $((!X)) $((X&1)) $((X|4)) $((X^1)) $((~X))
%%
X=1; X=$((X+1)); : $((X+=5)); echo $X
%%
echo $((5 / 0)); echo after
%%
A="1 + 2"; echo $(($A * 2))
%%
echo $(( UNSETV + 1 ))
%%
# bash
((X = 5, Y = X * 2)); echo $X $Y; ((X > 3)) && echo big; ((0)) || echo zero
%%
# bash
let X=5+3 Y=2; echo $X $Y; let "X += 2"; echo $X
%%
# bash
echo $((2**10)) $((16#ff)) $((2#1010))
%%
# bash
for ((i=0; i<3; i++)); do echo -n "$i "; done; echo
%%
echo $(echo a; echo b) "$(echo a; echo b)"
%%
X=`echo back`; echo "$X `echo \`echo inner\``"
%%
X=$(printf 'a\n\n\n'); echo "[$X]"
%%
X=$(false); echo $?; X=$(exit 3); echo $?
%%
Y=$(echo x; exit 4) || echo "failed $?"; echo $Y
%%
echo "$(cat <<EOF
in here doc
EOF
)"
%%
touch a.txt b.txt c.log; echo *.txt; echo ?.log; echo [ab].txt; echo *.none; echo [!a].txt
%%
mkdir d; touch d/x d/.h; echo d/*; echo d/.h*; echo */
%%
touch 'a b' c; for f in *; do echo "<$f>"; done
%%
set -f; touch q1 q2; echo q*; set +f; echo q*
%%
# bash
shopt -s nullglob; echo [*.none] *.none end
%%
# bash
shopt -s extglob
touch a.c b.h c.o; echo !(*.c); echo @(a|b).*; echo +([a-c]).o
%%
# bash
shopt -s globstar; mkdir -p g/h; touch g/1.t g/h/2.t; echo g/**/*.t
%%
# bash
shopt -s dotglob; touch .hid vis; echo *
%%
X="a b c"; set -- $X; echo $#; set -- "$X"; echo $#
%%
IFS=:; P="a:b::c"; for i in $P; do echo "[$i]"; done
%%
IFS=' '; echo $(printf 'a b\nc'); unset IFS; echo $(printf 'a b\nc')
%%
X=" lead and trail "; echo [$X] "[$X]"
%%
unset U; echo "${U}end" "${#U}"
%%
set -u; echo "${U:-ok}"; (echo $U) 2>/dev/null; echo "st $?"
%%
set -u; echo $NOPE 2>/dev/null; echo not reached
%%
# bash
set -u; A=(); echo "n ${#A[@]}" "${A[@]:-none}"
%%
X=1 Y=2; echo $X$Y; X=$Y Y=$X; echo $X $Y
%%
X=out; X=in sh -c 'echo $X'; echo $X
%%
export X=1; sh -c 'echo [$X]'; unset X; sh -c 'echo [$X]'
%%
X=local; sh -c 'echo [$X]'; export X; sh -c 'echo [$X]'
%%
A=1; readonly A; (A=2) 2>/dev/null; echo $? $A
%%
readonly R=5; echo $R; (unset R) 2>/dev/null || echo cannot
%%
readonly R=5; R=6; echo after
%%
export A=1 B="two words" C; echo "$A $B [$C]"
%%
Y="a b"; export X=$Y; echo "$X"; export Z="$Y c"; echo "$Z"
%%
export PATH="$PATH:/opt/x"; case $PATH in *:/opt/x) echo added;; esac
%%
X=abc; unset X Y; echo "[$X]"; f() { echo f; }; unset -f f; f 2>/dev/null; echo $?
%%
# bash
declare X=5; declare -r Y=6; declare -x Z=7; echo $X $Y $Z; bash -c 'echo [$Z]'
%%
# bash
declare -i N; N=2+3; echo $N
%%
# bash
declare -A M; M[a]=1; M[b c]=2; echo ${M[a]} "${M[b c]}" ${#M[@]}; for k in "${!M[@]}"; do echo "$k"; done | sort
%%
# bash
A=(x y z); echo ${A[0]} ${A[2]} ${#A[@]} ${A[@]} ${A[-1]}; A+=(w); echo "${A[@]:1:2}" ${#A[*]}
%%
# bash
A=(1 2 3); unset 'A[1]'; echo "${A[@]}" "${!A[@]}"; A[5]=6; echo "${!A[@]}"
%%
# bash
A=("a b" c); for i in "${A[@]}"; do echo "<$i>"; done; for i in ${A[@]}; do echo "<$i>"; done
%%
# bash
A=($(echo a b c)); echo ${#A[@]} ${A[1]}
%%
# bash
mapfile -t L <<< $'one\ntwo\nthree'; echo ${#L[@]} "${L[1]}"
%%
# bash
readarray -t L < <(printf 'a\nb\n'); echo "${L[*]}"
%%
# bash
IFS=, read -ra P <<< "a,b,c"; echo ${#P[@]} ${P[2]}
%%
# bash
X=abc; X+=def; echo $X; A=(1); A+=(2 3); echo ${A[*]}
%%
# bash
S="key=value=x"; echo "${S%%=*}" "${S#*=}"
%%
# bash
F=file.txt; echo ${F%.*}.bak ${F/txt/md}
%%
# bash
printf -v OUT '%03d-%s' 7 x; echo $OUT
%%
# bash
V="1.28.3"; IFS=. read -r MA MI PA <<< "$V"; echo "$MA/$MI/$PA"
%%
# bash
echo "${BASH_VERSION:+bash}" 
%%
# bash
[[ -v X ]] && echo set || echo unset; X=; [[ -v X ]] && echo set
