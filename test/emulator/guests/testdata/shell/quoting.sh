echo "a  b"  c   d
%%
X="a b  c"; echo $X; echo "$X"
%%
echo 'single $X `date` \n'
%%
echo "dollar \$X back\\slash quote\" tick\`"
%%
echo a\ b\ \ c
%%
printf '%s\n' "it's" 'say "hi"'
%%
echo "tab	inside"
%%
X=; echo "[$X]" [$X]
%%
echo one two\
three
%%
echo "line one
line two"
%%
printf '%s|' a "b c" 'd  e'; echo
%%
set -- "a b" c; printf '<%s>' "$@"; printf '<%s>' $@; printf '<%s>' "$*"; echo
%%
set --; printf '<%s>' "$@"; echo; printf '<%s>' "$*"; echo
%%
IFS=,; set -- a b c; echo "$*"; X="d,e f,g"; printf '<%s>' $X; echo
%%
X='*'; touch f1 f2; echo $X; echo "$X"
%%
echo "$(echo "nested "quotes"")"
%%
echo "a\nb"
%%
echo 'a\tb\\c'
%%
echo -n no newline
%%
echo -e 'a\tb'
%%
echo "100%" done
%%
X=5; echo "${X}px" "$X.5" "$Xpx"
%%
echo \"quoted\" \'single\' \$HOMEX
%%
printf "%s\n" "back\\\\slash" 'back\\slash'
%%
echo "a"'b'c"d e"
%%
printf '%s' 'no newline at end'
%%
echo {a,b,c} x{1,2}y
%%
echo {1..5} {a..e} {10..1..3} {01..03}
%%
echo "{a,b}" '{1..3}' \{x,y\}
%%
# bash
echo $'a\tb\n\x41' $'it\'s'
%%
# bash
X="a b"; echo ${X@Q}
%%
echo ~ | grep -c '~'
%%
echo a#b # comment
%%
: "${UNSET:=assigned}"; echo "$UNSET"
%%
echo !bang "!x"
%%
printf '%s\n' -n -- -e
%%
echo "a	b" | tr '\t' ' '
%%
echo "multi" \
  "line" \
  args
%%
echo "$#" "$0x" | cut -c1
%%
X="it's"; echo "$X" | sed "s/'/Q/"
%%
eval 'X="a b"; echo "$X"'
%%
eval echo '"$HOMEX"' "'x y'"
