mkdir a; mkdir a 2>/dev/null; echo $?; mkdir -p a/b/c; mkdir x/y 2>/dev/null; echo $?
%%
mkdir -m 700 p; stat -c %a p; mkdir -pm 750 q/r; stat -c %a q q/r
%%
mkdir a b c; rmdir a b; ls; touch c/f; rmdir c 2>/dev/null; echo $?
%%
mkdir -p x/y/z; rmdir -p x/y/z; ls | wc -l
%%
touch a b; rm a; ls; rm nofile 2>/dev/null; echo $?; rm -f nofile; echo $?
%%
mkdir -p d/e; touch d/f; rm d 2>/dev/null; echo $?; rm -rf d; ls | wc -l
%%
touch a.tmp b.tmp c; rm -f *.tmp; ls
%%
rm; echo $?
%%
echo x > a; cp a b; cat b; cp a nodir/b 2>/dev/null; echo $?; mkdir d; cp a b d; ls d
%%
mkdir -p s/t; echo 1 > s/t/f; cp -r s d; cat d/t/f; cp s e 2>/dev/null; echo $?
%%
mkdir s d; touch s/f; cp -r s d; ls d; cp -rT s d2; ls d2
%%
mkdir s; echo h > s/.h; cp -a s/. d 2>/dev/null || { mkdir d; cp -a s/. d; }; ls -A d
%%
echo x > a; chmod 640 a; cp a b; cp -p a c; stat -c %a b c
%%
echo new > a; echo old > b; cp -n a b; cat b; cp -f a b; cat b
%%
cp a b 2>/dev/null; echo $?; cp 2>/dev/null; echo $?
%%
echo 1 > a; echo 2 > b; mkdir t; cp -t t a b; ls t
%%
ln -s a l; echo x > a; cp l c; test -L c || echo copied; cp -P l d; test -L d && echo link
%%
echo x > a; mv a b; ls; mkdir d; mv b d; ls d; mv d/b ./c; ls
%%
mv nofile x 2>/dev/null; echo $?; touch a b; mkdir d; mv a b d; ls d
%%
echo 1 > a; echo 2 > b; mv a b; cat b; touch c; mv -n c b; cat b; ls
%%
mkdir a; touch a/f; mv a b; ls b; mkdir c; mv b c; ls c
%%
ln -s target link; readlink link; ln -s x link 2>/dev/null; echo $?; ln -sf y link; readlink link
%%
mkdir d; ln -s d dl; ln -sfn other dl; readlink dl; echo x > f; ln f h; echo y >> h; cat f
%%
mkdir d; touch f; ln -s ../f d/l; cat d/l; readlink d/l; ln -s $PWD/f d; readlink d/f | grep -c /f
%%
touch f; ln -s f l; readlink -f l | grep -c '/f$'; readlink f; echo $?; readlink -f none/x; echo $?
%%
mkdir -p a/b; cd a/b; realpath .. | grep -c '/a$'; realpath -m ../../x/../y | grep -c '/y$'
%%
touch f; chmod 600 f; stat -c %a f; chmod u+x f; stat -c %a f; chmod go+r f; stat -c %a f; chmod a-r f; stat -c %a f
%%
touch f; chmod 644 f; chmod +x f; stat -c %a f; chmod -x f; stat -c %a f; chmod u=rwx,g=rx,o= f; stat -c %a f
%%
mkdir -p d/e; touch d/f; chmod -R 750 d; stat -c %a d d/e d/f; chmod -R u+rwX,go-rwx d; stat -c '%a %n' d d/f
%%
touch f; chmod 400 f; cat f; stat -c %a f; echo x > f; cat f; chmod 0644 f; stat -c %a f
%%
chmod 644 none 2>/dev/null; echo $?; touch f; chmod zzz f 2>/dev/null; echo $?
%%
umask 077; touch f; chmod +r f; stat -c %a f; chmod a+r f; stat -c %a f
%%
touch b a c; ls; ls -1; ls -a; ls -A; ls -r
%%
mkdir d; touch d/x .h; ls; ls -d d; ls d; ls -A
%%
touch a b; mkdir d; touch d/c; ls a d; ls -R d; ls -d */
%%
ls nofile; echo $?
%%
touch f; mkdir d; ln -s f l; chmod 755 f; ls -F; ls -p
%%
touch -d '2020-01-01' a; touch -d '2022-01-01' b; touch -d '2021-01-01' c; ls -t; ls -tr
%%
echo 12345 > a; echo 1 > b; echo 123 > c; ls -S; stat -c '%s %n' a b c
%%
touch f; ls -l f | cut -c1-10; ls -ld . | cut -c1
%%
touch a; test -f a && echo made; touch -c none; test -e none || echo not made; touch no/dir 2>/dev/null; echo $?
%%
touch -d '2020-02-03 04:05:06' f; date -u -r f '+%Y-%m-%d %H:%M:%S'; stat -c %Y f
%%
touch -d @86400 f; touch -r f g; stat -c %Y g
%%
echo hello > f; stat -c '%s %F %n' f; mkdir d; stat -c %F d; ln -s f l; stat -c '%F %N' l; stat -c '%a %U %G' f
%%
stat none 2>/dev/null; echo $?; : > e; stat -c %F e; stat --printf '%s\n' e
%%
T=$(mktemp); test -f "$T" && echo file; stat -c %a "$T"; rm "$T"; D=$(mktemp -d); test -d "$D" && echo dir; stat -c %a $D; rmdir "$D"
%%
T=$(mktemp ./x.XXXXXX); echo "$T" | sed 's/......$//'; T=$(mktemp -p . y.XXXX); ls y.* | wc -l; mktemp bad 2>/dev/null; echo $?
%%
basename /a/b/c.txt; basename /a/b/c.txt .txt; basename /a/b/; basename -s .x a.x b.x; basename -a /a/b /c/d
%%
dirname /a/b/c; dirname a; dirname /a; dirname a/b/; dirname /; dirname a/b /c/d
%%
basename ""; dirname ""; basename /; basename a//b//
%%
mkdir -p d/e; touch d/a.txt d/e/b.txt d/c.log; find d -name '*.txt' | sort
%%
mkdir -p d/e; touch d/f; find d -type f; find d -type d | sort; find d -maxdepth 1 | sort; find d -mindepth 1 -type d
%%
mkdir d; touch d/a d/b; find d -type f -delete; find d
%%
mkdir d; touch d/a d/b; find d -type f -exec echo {} \; | sort; find d -type f -exec ls {} + | sort
%%
mkdir d; touch d/a; ln -s a d/l; find d -type l; find d ! -name a | sort; find d -name a -o -name l | sort
%%
mkdir d; echo x > d/s; touch d/e; find d -empty; find d -size +0 -type f; find d -type f -size -1k
%%
mkdir d; touch d/A.TXT d/b.txt; find d -iname '*.txt' | sort; find d -path '*b*'
%%
mkdir -p d/skip/x d/keep; touch d/skip/x/f d/keep/f; find d -path d/skip -prune -o -type f -print
%%
mkdir d; touch 'd/a b' d/c; find d -type f -print0 | sort -z | xargs -0 -n1 echo
%%
find none 2>/dev/null; echo $?; touch x.sh; chmod 755 x.sh; find . -perm 755 -name '*.sh'
%%
mkdir d; touch -d '2020-01-01' d/old; touch d/new; find d -type f -mtime +30; find d -newer d/old -type f
%%
find . -foo 2>/dev/null; echo $?
%%
install -d a/b; test -d a/b && echo d; echo x > f; install -m 0755 f a/g; stat -c %a a/g; cat a/g; install -D f n/m/f; cat n/m/f
%%
install -m 600 /dev/null secret; stat -c '%a %s' secret
%%
echo abcdef > f; truncate -s 3 f; cat f; echo; truncate -s 0 f; stat -c %s f
%%
echo x > f; tar cf a.tar f; rm f; tar xf a.tar; cat f; tar tf a.tar
%%
mkdir -p d/e; echo 1 > d/a; echo 2 > d/e/b; tar -czf d.tgz d; rm -r d; tar -xzf d.tgz; cat d/a d/e/b; tar tzf d.tgz | sort
%%
mkdir s; echo x > s/f; tar -C s -cf - f | tar -tf -; mkdir t; tar -C s -cf - . | tar -C t -xf -; cat t/f
%%
mkdir -p p/q; echo x > p/q/f; tar czf p.tgz p; mkdir o; tar -xzf p.tgz -C o --strip-components=1; find o | sort
%%
tar xf none.tar 2>/dev/null; echo $?; echo x > f; tar czf a.tgz f; tar xzf a.tgz -O f
%%
echo text | gzip | gunzip; echo text | gzip -c | zcat; echo x > f; gzip f; ls; gunzip f.gz; cat f
%%
echo x > f; gzip -k f; ls; echo bad | gunzip 2>/dev/null; echo $?; gzip -dc f.gz
%%
echo hello | sha256sum; echo hello | md5sum; printf x > f; sha256sum f; sha1sum f
%%
echo a > f; sha256sum f > sums; sha256sum -c sums; echo b > f; sha256sum -c sums 2>/dev/null; echo $?
%%
echo "$(printf x | sha256sum | cut -d' ' -f1)  f" > s; printf x > f; sha256sum --check --status s; echo $?
%%
echo hello | base64; echo aGVsbG8K | base64 -d; printf %s secret | base64 -w0; echo; echo aGVsbG8K | base64 --decode
%%
head -c 100 /dev/zero | base64 | head -1; echo '!!!' | base64 -d 2>/dev/null; echo $?
%%
seq 100 | base64 -w 0 | wc -c; seq 100 | base64 | wc -l
%%
echo x > f; cmp f f && echo same; echo y > g; cmp -s f g; echo $?; diff -q f f; echo $?
%%
echo a > f; echo b > g; diff f g; echo $?
%%
du -s . >/dev/null; echo $?
%%
touch 'sp ace' "qu'ote"; ls | cat; rm 'sp ace'; ls
%%
mkdir d && cd d && touch a && cd .. && ls d
%%
cat a b 2>/dev/null; echo $?; printf 'x\ny\n' > f; cat -n f; cat f f | wc -l
%%
cp -u a b 2>/dev/null; echo $?; echo 1 > a; cp -v a b; mv -v b c; rm -v c; mkdir -v d
%%
ln a b 2>/dev/null; echo $?; touch a; ln -v a b > /dev/null; ls
%%
date -u -d @0 +%Y-%m-%dT%H:%M:%SZ; date -u -d '2024-02-29' +%j; date -u -d '2024-01-31 12:00:00' '+%a %b %e %H:%M'
%%
date -u -d '2024-01-01 00:00:00 UTC' +%s; date -u -d '@1700000000' -Iseconds; date -u -d @1700000000 -R
%%
date -u -d '2024-03-01' '+%F %T %D %y %m %-d %I %p %u %w %Z %z %%'
%%
test $(date +%s) -gt 1600000000 && echo now; date +%Y | wc -c; date +%s%N | wc -c
%%
date -d 'last tuesday' >/dev/null; echo $?; date -d garbage 2>/dev/null; echo $?
%%
mktemp -u | wc -l; mktemp --suffix=.yaml | grep -c '\.yaml$'
