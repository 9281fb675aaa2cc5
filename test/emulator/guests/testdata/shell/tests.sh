[ a = a ]; echo $?; [ a = b ]; echo $?; [ a != b ]; echo $?
%%
[ a == a ]; echo $?
%%
[ -z "" ] && [ -n "x" ]; echo $?; [ "" ]; echo $?; [ x ]; echo $?; [ ]; echo $?
%%
[ 5 -gt 3 ] && [ 3 -lt 5 ] && [ 3 -le 3 ] && [ 3 -ge 3 ] && [ 3 -ne 4 ]; echo $?
%%
[ abc -eq 3 ] 2>/dev/null; echo $?
%%
touch f; mkdir d; ln -s f l; [ -f f ] && [ -d d ] && [ -L l ] && [ -h l ] && [ -e f ]; echo $?
%%
[ -f d ]; echo $?; [ -d f ]; echo $?; [ -e none ]; echo $?; [ ! -e none ]; echo $?
%%
touch e; echo x > s; [ -s e ]; echo $?; [ -s s ]; echo $?
%%
touch x; chmod 755 x; touch n; chmod 644 n; [ -x x ]; echo $?; [ -x n ]; echo $?; [ -r n ]; echo $?; [ -w n ]; echo $?
%%
[ a = a -a b = b ]; echo $?; [ a = b -o b = b ]; echo $?; [ ! a = b ]; echo $?
%%
[ \( a = a \) -a \( b = c \) ]; echo $?
%%
test -n; echo $?; test -z; echo $?; test !; echo $?
%%
X=; [ $X = a ] 2>/dev/null; echo $?; [ "$X" = a ]; echo $?
%%
[ a -foo b ] 2>/dev/null; echo $?; [ a b ] 2>/dev/null; echo $?
%%
[ a 2>/dev/null; echo $?
%%
touch -d '2020-01-01' old; touch -d '2021-01-01' new; [ new -nt old ]; echo $?; [ new -ot old ]; echo $?; [ old -nt none ]; echo $?
%%
touch f; ln f g; [ f -ef g ]; echo $?; [ f -ef none ]; echo $?
%%
[ "-n" ]; echo $?; [ "!" ]; echo $?; [ "=" = "=" ]; echo $?; [ "(" = "(" ]; echo $?
%%
[ " 5 " -eq 5 ]; echo $?; [ -5 -lt 0 ]; echo $?
%%
[ "$(echo a)" = "a" ] && echo sub; [ $(echo 3) -eq 3 ] && echo num
%%
[ -t 0 ] < /dev/null; echo $?
%%
test "x$1" = x && echo noarg
%%
[ -e /dev/null ] && echo null; [ -c /dev/null ] && echo char
%%
[ a \< b ]; echo $?; [ b \> a ]; echo $?
%%
ln -s nowhere broken; [ -e broken ]; echo $?; [ -L broken ]; echo $?
%%
# bash
[[ -f none || -d . ]]; echo $?; [[ a != b ]]; echo $?; [[ "" ]]; echo $?
%%
# bash
X="a b"; [[ $X == "a b" ]] && echo ok; [[ $X = a* ]] && echo glob
%%
# bash
[[ 1 -eq 1 && 2 -eq 3 ]] || echo no; [[ ! ( a == b ) ]] && echo neg
%%
# bash
[[ foo.tar.gz == *.tar.* ]] && echo m; [[ foo =~ o+ ]] && echo "${BASH_REMATCH[0]}"
%%
# bash
R='^[0-9]+$'; [[ 123 =~ $R ]] && echo digits; [[ 12a =~ $R ]] || echo not
%%
# bash
test -v HOME && echo v; [ -o errexit ]; echo $?
%%
expr 1 + 2; expr 5 - 3; expr 4 \* 3; expr 7 / 2; expr 7 % 3
%%
expr abc : 'a\(.\)c'; expr abcd : 'ab'; expr length hello; expr substr hello 2 3; expr index hello l
%%
expr 1 = 1; echo $?; expr 1 = 2; echo $?; expr 3 \> 2; expr a \| b; expr "" \| c; expr 0 \& 1
%%
expr 1 + a 2>/dev/null; echo $?
%%
true; false; echo $?; test a; echo $?
