echo out > f; cat f; echo more >> f; cat f
%%
echo a > f; echo b > f; cat f
%%
cat < /dev/null; echo x | cat -
%%
cat <<EOF
value $((1+1)) ${X:-none} $(echo cmd)
EOF
%%
cat <<'EOF'
literal $X $(cmd) `x` \n
EOF
%%
cat <<-EOF
	tabs stripped
		both
	EOF
%%
cat <<EOF > out.txt
a
  b
EOF
cat out.txt
%%
cat <<A; cat <<B
first
A
second
B
%%
cat <<EOF | tr a-z A-Z
piped doc
EOF
%%
cat <<EOF
back\\slash \$X "quotes" 'single'
EOF
%%
cat > conf <<EOF
[section]
key = "${X:-val}"
EOF
grep key conf
%%
# bash
cat <<< "here string"; X=abc; tr a-c A-C <<< $X
%%
ls nofile 2> err; echo $?; test -s err && echo has
%%
ls nofile > out 2>&1; wc -l < out
%%
{ echo o; echo e >&2; } 2>&1 | sort
%%
echo x >&2 2>/dev/null; echo "st $?"
%%
echo to stdout 1>&1; echo quiet > /dev/null
%%
# bash
ls nofile &> all; wc -l < all; echo x &>> all; wc -l < all
%%
echo a | tee f1 f2; cat f1 f2; echo b | tee -a f1 > /dev/null; cat f1
%%
echo x | tee /dev/stderr 2>/dev/null
%%
exec > log; echo hidden; test -s log
%%
exec 3>&1; echo x >&3
%%
exec 3<f 2>/dev/null; echo "st $?"
%%
echo data > in; exec < in; read x; echo "$x"
%%
cat /no/such 2>/dev/null || echo missing
%%
echo x > /no/such/dir/f 2>/dev/null; echo $?
%%
: > f; [ -s f ] || echo empty; echo > f; [ -s f ] && echo notempty
%%
printf 'a\nb\nc\n' > f; while read l; do echo "$l"; done < f | tail -1
%%
read a b <<EOF
1 2 3
EOF
echo "$a/$b"
%%
echo 'a\tb' | { read x; echo "$x"; }; echo 'a\tb' | { read -r x; echo "$x"; }
%%
echo "  sp  " | { read x; echo "[$x]"; }; echo "  sp  " | { IFS= read -r x; echo "[$x]"; }
%%
echo a:b:c | { IFS=: read x y z; echo $x $y $z; }
%%
read x < /dev/null; echo "st $? [$x]"
%%
# bash
read -r -d '' X <<EOF
multi
line
EOF
echo "$X"
%%
# bash
printf 'a\0b\0' | while IFS= read -r -d '' f; do echo "<$f>"; done
%%
# bash
read -n 3 X <<< abcdef; echo $X
%%
# bash
read -r X Y < <(echo 1 2); echo "$X-$Y"
%%
# bash
while read -r l; do N="$l"; done < <(printf 'x\ny\n'); echo "$N"
%%
# bash
diff <(echo a) <(echo a) && echo same
%%
# bash
exec > >(tee -a log.txt) 2>&1; echo logged; echo err >&2
%%
# bash
echo x > >(cat > procout); wait; echo ok
%%
printf '%s %d %5d|%-5d|%05d\n' str 42 42 42 42
%%
printf '%x %X %o %c\n' 255 255 8 abc
%%
printf '%s\n' a b c; printf '%s-%s\n' 1 2 3
%%
printf '%5s|%-5s|%.2s\n' ab ab abcdef
%%
printf '%.2f %5.1f %e\n' 3.14159 2.5 1234.5
%%
printf 'a\tb\\n\n\101\n'
%%
printf '%b\n' 'a\tb\nc'
%%
printf '%%|%s\n' x; printf 'no newline'
%%
printf '%d\n' 0x10 010 -5 +3
%%
printf '%d\n' abc 2>/dev/null; echo $?
%%
printf '%s\n'; printf '%d\n'
%%
printf '%-10s%s\n' key value k2 v2
%%
printf -- '-x\n'; printf '%s\n' "-n"
%%
printf '%*d\n' 5 42
%%
# bash
printf '%q\n' "a b" "it's" '' 'x$y'
%%
printf '%03d\n' 7; printf '%+d\n' 7; printf '% d\n' 7
%%
printf "%s\n" "$(printf 'x\n')"
%%
umask; umask 077; touch p; stat -c %a p; umask 022; touch q; stat -c %a q
%%
umask 027; mkdir d; stat -c %a d; echo x > f; stat -c %a f
%%
(umask 077; echo s > secret); stat -c %a secret; umask
%%
cd /; pwd; cd - > /dev/null
%%
mkdir -p a/b; cd a/b; basename "$(pwd)"; cd ..; basename "$(pwd)"
%%
cd nodir 2>/dev/null; echo $?
%%
mkdir d; (cd d && touch in); ls d; test -e in || echo not here
%%
D=$(cd "$(dirname "$0")" 2>/dev/null && pwd); test -n "$D" && echo ok
%%
X=$(cd / && pwd); echo $X
%%
cat /dev/null > f; stat -c %s f
%%
echo one > f; { read x; echo "got $x"; } < f
%%
{ echo a; echo b; } > f; wc -l < f
%%
(echo sub) > f; cat f
%%
if true; then echo in if; fi > f; cat f
%%
for i in 1 2; do echo $i; done > f; cat f
%%
> f; ls f; echo x >| f; cat f
%%
echo a 2>&1 >/dev/null | wc -l
%%
(echo out; echo err >&2) 2>e >o; cat o e
%%
cat nofile - 2>/dev/null <<EOF
stdin
EOF
echo $?
%%
yes 2>/dev/null | head -2
%%
echo "x" | cat | cat | wc -c
%%
true | false | true; echo $?
%%
cat << EOF
$(cat <<INNER
nested
INNER
)
EOF
%%
X=$(cat <<'EOF'
{"a": 1}
EOF
); echo "$X"
%%
env -i A=1 sh -c 'echo $A'; env B=2 sh -c 'echo $B'
%%
A=1 env | grep '^A='; printenv NOSUCH; echo $?
%%
export Q=7; printenv Q; env -u Q sh -c 'echo [${Q-unset}]'
%%
echo "$PWD" | grep -c /; OLD=$PWD; cd /; [ "$OLDPWD" = "$OLD" ] && echo old
