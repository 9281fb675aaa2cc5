printf 'a b c\nd e f\n' | cut -d' ' -f2; echo a:b:c:d | cut -d: -f2-3; echo a:b:c | cut -d: -f1,3; echo abcdef | cut -c2-4
%%
echo nodelim | cut -d: -f1; echo nodelim | cut -s -d: -f1; echo a:b | cut -d : -f 2; echo abc | cut -b1
%%
echo a:b:c:d | cut -d: -f2-; echo a:b:c:d | cut -d: -f-2; echo a:b:c | cut -d: --complement -f2; echo a:b | cut -d: -f1,2 --output-delimiter=-
%%
printf '3\n1\n2\n10\n' | sort; printf '3\n1\n2\n10\n' | sort -n; printf 'b\na\nb\n' | sort -u; printf 'a\nb\n' | sort -r
%%
printf 'x 3\ny 1\nz 2\n' | sort -k2; printf 'x:3\ny:1\nz:20\n' | sort -t: -k2 -n; printf 'x:3\ny:1\nz:20\n' | sort -t: -k2,2nr
%%
printf 'B\na\nC\n' | sort; printf 'B\na\nC\n' | sort -f; printf 'v1.10\nv1.9\nv1.2\n' | sort -V; printf '2K\n1M\n5\n' | sort -h
%%
printf 'b 1\na 2\nb 0\n' | sort -k1,1 -s; printf 'b\na\n' > f; sort -o f f; cat f; sort -c f && echo sorted
%%
printf 'v1.36.0-rc.1\nv1.36.0\nv1.35.9\n' | sort -V | tail -1; printf '10\n9\n-1\n1.5\n' | sort -n
%%
printf 'a\na\nb\na\n' | uniq; printf 'a\na\nb\n' | uniq -c; printf 'a\na\nb\n' | uniq -d; printf 'a\na\nb\n' | uniq -u; printf 'A\na\n' | uniq -i
%%
printf 'c\na\nb\na\n' | sort | uniq -c | sort -rn
%%
seq 20 | head; seq 20 | head -n 3; seq 20 | head -3; seq 5 | head -n -2; printf abcdef | head -c 3
%%
seq 20 | tail -n 2; seq 20 | tail -2; seq 5 | tail -n +4; printf abcdef | tail -c 2; seq 3 | tail -c +3
%%
seq 2 > a; seq 3 > b; head -n1 a b; tail -n1 a b; head -q -n1 a b; head none 2>/dev/null; echo $?
%%
echo hello | tr a-z A-Z; echo hello | tr -d l; echo aabbcc | tr -s a-c; echo 'a b' | tr ' ' '\n'; echo abc | tr abc xyz
%%
echo 'a1b2' | tr -d '[:digit:]'; echo 'a1b2' | tr -cd '[:digit:]'; echo; echo Hello | tr '[:upper:]' '[:lower:]'; echo abc | tr a-c x
%%
printf 'a\r\nb\r\n' | tr -d '\r'; echo a-b_c | tr '_-' '..'; echo 'x  y' | tr -s ' '; echo abc | tr -c 'a\n' '*'
%%
printf 'one two\nthree\n' | wc; printf 'one two\nthree\n' | wc -l; printf abc | wc -c; printf 'a b' | wc -w; printf 'äö' | wc -m
%%
printf 'a\nb\n' > f; wc -l f; wc f; wc -l f f; wc -l < f; wc -lw f; printf 'abcd\nab\n' | wc -L
%%
seq 3; seq 2 4; seq 1 2 7; seq 5 -1 3; seq -s, 3; seq -w 8 10; seq 0 0.5 1
%%
seq 0; seq a 2>/dev/null; echo $?; seq 3 1; seq -2 0
%%
printf 'apple\nbanana\ncherry\n' | grep an; printf 'a\nb\n' | grep -v a; printf 'A\n' | grep -i a; printf 'a\nb\na\n' | grep -c a
%%
echo abc | grep -q b; echo $?; echo abc | grep -q x; echo $?; grep x nofile 2>/dev/null; echo $?; grep -s x nofile; echo $?
%%
echo 'foo bar' | grep -o '[a-z]*'; echo 'a1b22' | grep -oE '[0-9]+'; printf 'a\nb\n' | grep -n b; printf 'foo\nfoobar\n' | grep -w foo; printf 'foo\nfoobar\n' | grep -x foo
%%
seq 10 | grep -A1 5; seq 10 | grep -B1 5; seq 10 | grep -C1 5; printf 'a\nx\nb\nc\nx\nd\n' | grep -A1 x
%%
printf 'a.b\naxb\n' | grep -F a.b; printf 'a+b\naab\n' | grep 'a+b'; printf 'a+b\naab\n' | grep -E 'a+b'; printf 'ab\n' | grep 'a\+b'
%%
printf 'a\nb\nc\n' | grep -e a -e c; printf 'a|b\n' | grep 'a|b'; printf 'a\nb\n' | grep -E 'a|b'; printf 'a\nb\n' | grep 'a\|b'
%%
echo x > f1; echo y > f2; grep x f1 f2; grep -l x f1 f2; grep -L x f1 f2; grep -h x f1 f2; grep -H x f1; grep -c x f1 f2
%%
mkdir d; echo needle > d/a; echo hay > d/b; grep -r needle d; grep -rl needle d; grep -rn needle d
%%
printf 'a\na\na\n' | grep -m1 a; printf '^x\n' | grep '\^x'; printf 'x\n' | grep '^x$'; printf '\n' | grep -c '^$'; printf 'tab\there\n' | grep -P '\t'
%%
echo 'v1.36.3' | grep -oP '\d+\.\d+'; echo 'a=5' | grep -oP 'a=\K\d+'; echo 'x(y)' | grep '(y)'; echo 'x{2}' | grep 'x{2}'; echo xx | grep -E '^x{2}$'
%%
printf 'foo\n#c\n\nbar\n' | grep -vE '^(#|$)'; printf 'a b\n' | grep '[[:space:]]'; printf 'a]b\n' | grep '[]]'; printf 'a-b\n' | grep '[a\-]b' ; printf 'ab12\n' | grep -oE '[[:alpha:]]+|[[:digit:]]+'
%%
printf 'abab\n' | grep -E '(ab)\1'; echo $?
%%
printf 'p1\np2\n' > pats; printf 'xp1\nq\np2y\n' | grep -f pats; egrep 'a|b' <<EOF
a
EOF
fgrep a.b <<EOF
a.b
EOF
%%
grep --include='*.c' -r x . ; echo $?
%%
echo hello | sed 's/l/L/'; echo hello | sed 's/l/L/g'; echo hello | sed 's/l/L/2'; echo hello | sed 's|l|/|g'; echo a.b | sed 's/\./-/'
%%
echo 'key=old' | sed 's/=.*/=new/'; echo 'a b' | sed 's/\(.*\) \(.*\)/\2 \1/'; echo 'a b' | sed -E 's/(.*) (.*)/\2 \1/'; echo ab | sed 's/a/[&]/'
%%
seq 5 | sed 2d; seq 5 | sed -n 2p; seq 5 | sed -n '2,4p'; seq 5 | sed '$d'; seq 5 | sed -n '$p'; seq 5 | sed '2,3d'; seq 5 | sed 3q
%%
printf 'a\nb\nc\n' | sed '/b/d'; printf 'a\nb\nc\n' | sed -n '/a/,/b/p'; printf 'a\nb\n' | sed '/a/!d'; printf 'a\nb\n' | sed -e 's/a/x/' -e 's/b/y/'
%%
printf 'a\nb\n' | sed 's/a/x/;s/b/y/'; printf 'a\n' | sed '/a/{s/a/b/;s/b/c/}'; printf 'A\n' | sed 's/a/x/I'; printf 'aa\n' | sed -n 's/a/b/p'
%%
printf 'a\nb\n' > f; sed -i 's/a/X/' f; cat f; sed -i.bak 's/b/Y/' f; cat f f.bak; sed -i -e '$a end' f; cat f
%%
printf 'a\n' | sed 'a after'; printf 'a\n' | sed 'i before'; printf 'a\nb\n' | sed '1c changed'; printf 'a\n' | sed '1i\  indented'; printf 'a\n' | sed '$a\
multi\
line'
%%
printf 'a\nb\nc\n' | sed = | sed 'N;s/\n/ /'; printf 'a\nb\n' | sed ':a;N;$!ba;s/\n/,/g'; printf 'a\nb\n' | sed G; printf 'a\nb\nc\n' | sed -n '1!G;h;$p'
%%
echo abc | sed 'y/abc/xyz/'; echo a/b | sed 's/\//-/'; echo 'x' | sed "s/x/$HOMEX y/"; printf 'a\tb\n' | sed 's/\t/ /'; echo ab | sed 's/b/\n/'
%%
printf '# c\nkey: v\n\n' | sed '/^#/d;/^$/d'; printf '  lead\n' | sed 's/^[ \t]*//'; printf 'trail  \n' | sed 's/[[:space:]]*$//'
%%
echo hello | sed 's/./\U&/'; echo HELLO | sed 's/.*/\L&/'; echo 'foo bar' | sed -E 's/\b(.)/\u\1/g'; echo abc | sed -r 's/b+/X/'
%%
printf 'a\nb\nc\n' > f; sed -n '/b/=' f; sed '0,/a/s/a/X/' f; sed '2~2d' f; sed '1,+1d' f; sed -s -n '$p' f f
%%
sed 's/a' f 2>/dev/null; echo $?; sed 's/x/y/' nofile 2>/dev/null; echo $?; echo x | sed k 2>/dev/null; echo $?
%%
printf 'SystemdCgroup = false\n' > c; sed -i 's/SystemdCgroup = false/SystemdCgroup = true/' c; cat c; sed -ri 's/^(S\w+) =/\1=/' c; cat c
%%
printf '/dev/sda swap\n/dev/sdb ext4\n' | sed '/ swap / s/^/#/'; printf '/swap x swap defaults\n' | sed -e '/\sswap\s/s/^\(.*\)$/#\1/g'
%%
echo a | sed --expression='s/a/b/' ; echo a | sed -n --quiet -e p; printf 'a\nb\n' | sed -u 1d; printf 's/a/z/\n' > sc; echo a | sed -f sc
%%
echo one | sed 'p;p' ; printf 'a\nb\n' | sed 'n;d'; printf '1\n2\n3\n' | sed '/2/{x;p;x}'; printf 'a\n' | sed 's/a/b/;ta;s/b/c/;:a'
%%
printf 'l1\nl2\n' | sed '1r /dev/null'; printf 'x\n' > ins; printf 'l1\nl2\n' | sed '1r ins'; printf 'a\nb\n' | sed '/a/w out'; cat out
%%
echo 'a b c' | awk '{print $2}'; echo 'a:b' | awk -F: '{print $2}'; echo 'a b' | awk '{print $NF, NF}'; printf 'a\nb\n' | awk '{print NR": "$0}'
%%
printf 'a 1\nb 2\n' | awk '$2>1 {print $1}'; printf 'a 1\nb 2\n' | awk '/b/ {print $2}'; printf '1\n2\n3\n' | awk '{s+=$1} END {print s}'; printf 'a\nb\n' | awk 'NR==2'
%%
echo 'a b' | awk '{print $1 "-" $2}'; echo 'a b' | awk '{printf "%s %d\n", $1, 5}'; awk 'BEGIN {print 1+2*3, 7/2, 2^3, 7%3}'; echo x | awk -v v=val '{print v, $1}'
%%
printf 'a=1\nb=2\n' | awk -F= '$1=="b" {print $2}'; printf 'k: v w\n' | awk -F': ' '{print $2}'; printf 'a,b;c\n' | awk -F'[,;]' '{print $3}'; printf 'x\ty z\n' | awk -F'\t' '{print $2}'
%%
printf 'c\na\nc\n' | awk '!seen[$0]++'; printf 'a 1\na 2\nb 3\n' | awk '{s[$1]+=$2} END {for (k in s) print k, s[k]}' | sort; printf 'a\nb\n' | awk 'END {print NR}'
%%
awk 'BEGIN {x="hello"; print length(x), substr(x,2,3), index(x,"l"), toupper(x), tolower("ABC")}'; awk 'BEGIN {n=split("a:b:c", p, ":"); print n, p[1], p[3]}'; awk 'BEGIN { s="aXbX"; gsub(/X/,"-",s); print s; sub(/a/,"z",s); print s }'
%%
awk 'BEGIN { for (i=1;i<=3;i++) printf "%d ", i; print ""; i=0; while (i<2) { i++; print i }; if (i==2) print "two"; else print "no" }'
%%
printf 'a\nb\nc\n' | awk '/a/,/b/'; printf 'x y\n' | awk '{$1="z"; print}'; printf 'a b c\n' | awk '{print $(NF-1)}'; printf 'a b\n' | awk 'BEGIN{OFS="-"} {print $1,$2}'; printf '1 2\n' | awk '{print $1+$2, $1 $2}'
%%
printf 'MemTotal: 16 kB\n' | awk '/^MemTotal/ {print $2 * 1024}'; printf 'a\n' | awk '{exit 3}'; echo $?; printf 'a b\n' | awk '{ if ($1 ~ /^a/ && $2 != "x") print "match" }'; awk 'BEGIN { print "a" > "out" }'; cat out
%%
printf 'a b\nc d\n' | awk '{print > $1".txt"}'; cat a.txt c.txt; awk -F/ '{print $NF}' <<EOF
/x/y/z
EOF
awk 'BEGIN{print substr("abc",2); print match("xabc",/ab/), RSTART, RLENGTH; print sprintf("%03d",7)}'
%%
printf 'a  b\n' | awk '{$1=$1};1'; printf 'h1 h2\nv1 v2\n' | awk 'NR>1{print $2}'; printf 'a\n\nb\n' | awk NF; printf 'x 1\ny 2\n' | awk '{a[NR]=$1} END{for(i=NR;i>0;i--) print a[i]}'; echo 5 | awk '{print ($1>3)?"big":"small"}'
%%
awk 'BEGIN { "echo cmd" | getline x; print x }'; printf 'a\nb\n' | awk 'BEGIN{RS=""}{print NF}'; echo 'a b' | awk '{ delete x; next; print "no" }'; awk 'function f(n) { return n*2 } BEGIN { print f(4) }'
%%
echo a b c | xargs; echo a b c | xargs -n1; printf 'a\nb\n' | xargs -I{} echo "<{}>"; echo | xargs echo empty; echo | xargs -r echo none
%%
printf 'a b\nc\n' | xargs -n 1 echo x; printf '"a b" c\n' | xargs -n1; printf 'a\0b c\0' | xargs -0 -n1 echo; echo x | xargs -I % echo %-%; printf 'a,b' | xargs -d, -n1
%%
echo f1 f2 | xargs touch; ls; echo x | xargs false; echo $?; echo x | xargs nosuchcmd 2>/dev/null; echo $?; printf 'a\nb\n' | xargs -L1 echo l; seq 4 | xargs -n2
%%
echo hello | rev; seq 3 | tac; printf 'a\nb\n' | paste -sd,; printf 'a\nb\nc\nd\n' | paste - -; seq 2 > a; seq 3 4 > b; paste a b; paste -d: a b
%%
printf 'a\nb\nc\n' > x; printf 'b\nc\nd\n' > y; comm x y; comm -12 x y; comm -23 x y; printf 'a\n\nb\n' | nl; printf 'a\n\nb\n' | nl -ba
%%
printf 'a b c' | { read x y; echo "$y"; }; printf 'x\n' | cat -; printf 'a\n\n\n\nb\n' | cat -s; printf 'a\n' | cat -E
%%
echo '{"a":1,"b":{"c":[1,2]}}' | jq .; echo '{"a":1}' | jq .a; echo '{"a":"x"}' | jq -r .a; echo '{"a":"x"}' | jq .a; echo '[1,2]' | jq -c 'map(.+1)'
%%
echo '{"items":[{"n":"a","v":1},{"n":"b","v":2}]}' | jq -r '.items[] | select(.v>1) | .n'; echo '{"b":1,"a":2}' | jq -c .; echo '{"b":1,"a":2}' | jq -S -c .; echo '{}' | jq -e .x; echo $?
%%
jq -n --arg x 'va l' '{k: $x}'; jq -nc --argjson n 5 '[$n, $n*2]'; echo '"s"' | jq -r '. | length'; echo '[3,1,2]' | jq -c 'sort, (add), length'
%%
printf '{"a":1}\n{"a":2}\n' | jq .a; printf '{"a":1}\n{"a":2}\n' | jq -s -c 'map(.a)'; echo '{"a":null}' | jq '.a // "d"'; echo '{"a":[]}' | jq '.a | length'; echo '"x y"' | jq -r @base64; printf 'l1\nl2\n' | jq -R .
%%
echo '{"z":1,"a":{"y":2,"b":3}}' | jq -c '{z, q: .a.y}'; echo '{"a":1}' | jq '.b = 2' -c; echo '{"a":{"b":1}}' | jq -c 'to_entries'; echo '[1,[2]]' | jq -c flatten; echo '"a,b"' | jq -c 'split(",")'; echo 1.0 | jq .
%%
echo '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}' > s.json; jq -r '.status.conditions[] | select(.type=="Ready").status' s.json; jq -e '.status.x' s.json > /dev/null; echo $?; jq --raw-output '.status.conditions[0].type' < s.json
%%
timeout 5 echo in time; timeout 5 sh -c 'exit 7'; echo $?; timeout 0.2 sleep 5; echo $?; timeout 60 bash -c 'echo nested; exit 3'; echo $?; timeout -k 1 5 true; echo $?
%%
timeout 2>/dev/null; echo $?; timeout 1 nosuch 2>/dev/null; echo $?; timeout x true 2>/dev/null; echo $?; timeout -s KILL 5 echo k; timeout --preserve-status 5 false; echo $?
%%
sleep 0; sleep 0.01; echo $?; sleep 2>/dev/null; echo $?; sleep x 2>/dev/null; echo $?; sleep 0.01s 0.01; echo ok
%%
id -u; id -un; whoami; test "$(id -u)" = 0 && echo root; id -g; id nosuchuser 2>/dev/null; echo $?
%%
nproc >/dev/null && echo cpus; uname; uname -s; uname -m; uname -o; arch
%%
hostname >/dev/null; echo $?; test "$(hostname)" = "$(uname -n)" && echo same
%%
echo 'APT::Install "0";' > 99x; cat 99x; getent passwd root | cut -d: -f1,3,6; getent passwd nosuch; echo $?; getent group root | cut -d: -f1
%%
nohup echo n 2>/dev/null; env printf '%s\n' p; flock /tmp/casement-guests.lock echo locked; flock -n /tmp/casement-guests.lock -c 'echo c'
%%
tr 2>/dev/null; echo $?; cut 2>/dev/null; echo $?; printf 'a\n' | grep 2>/dev/null; echo $?; basename 2>/dev/null; echo $?; mkdir 2>/dev/null; echo $?
