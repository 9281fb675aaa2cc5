export KUBECONFIG=/etc/kubernetes/admin.conf; echo $KUBECONFIG
%%
mkdir -p etc/systemd && cat > etc/systemd/10-x.conf <<EOF
[Service]
Environment="KUBELET_EXTRA_ARGS=--node-ip=10.0.0.4"
EOF
cat etc/systemd/10-x.conf
%%
for i in $(seq 1 5); do [ -f ready ] && break; echo "waiting $i"; [ $i = 3 ] && touch ready; sleep 0.01; done
%%
n=0; until [ "$n" -ge 5 ]; do [ $n = 2 ] && break; n=$((n+1)); sleep 0.01; done; echo "tried $n"
%%
IP=$(printf '1: lo inet 127.0.0.1/8\n2: eth0    inet 10.1.0.4/16 brd x\n' | grep eth0 | awk '{print $4}' | cut -d/ -f1); echo $IP
%%
printf 'net.ipv4.ip_forward = 1\nnet.bridge.x = 1\n' | tee k8s.conf > /dev/null; grep -c '= 1' k8s.conf
%%
VERSION=v1.36.3; MINOR=$(echo $VERSION | cut -d. -f2); if [ "$MINOR" -ge 30 ]; then echo new; fi
%%
ARCH=amd64; URL="https://dl.k8s.io/release/${VERSION:-v1.36.3}/bin/linux/${ARCH}/kubelet"; echo "$URL"
%%
# bash
set -o errexit -o nounset -o pipefail; VERSION=${1:-v1.36.3}; if [[ "${VERSION}" =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]]; then echo release; else echo other; fi
%%
# bash
set -euo pipefail; retry() { local n=0; until "$@"; do n=$((n+1)); if [[ $n -ge 3 ]]; then echo "gave up" >&2; return 1; fi; sleep 0.01; done; }; retry true && echo ok; retry false 2>/dev/null || echo failed
%%
# bash
declare -a images=("pause:3.10" "coredns:v1.12"); for img in "${images[@]}"; do echo "${img%%:*} ${img##*:}"; done
%%
# bash
function log() { echo "[$(date -u -d @0 +%H:%M)] $*"; }; log hello world
%%
# bash
if ! command -v nosuchtool &> /dev/null; then echo "need it"; fi
%%
# bash
readonly DIR="$(mktemp -d)"; trap 'rm -rf "$DIR"' EXIT; touch "$DIR/x"; ls "$DIR"
%%
# bash
while IFS='=' read -r key value; do [[ -z $key || $key == \#* ]] && continue; echo "$key -> $value"; done <<'EOF'
# comment
A=1
B=x=y

EOF
%%
# bash
args=(); args+=(--v=2); args+=("--name=a b"); printf '%s\n' "${args[@]}"
%%
# bash
for pair in a=1 b=2; do k=${pair%=*}; v=${pair#*=}; printf '%s:%s\n' "$k" "$v"; done
%%
CERT=$(printf 'line1\nline2\n' | base64 -w0); echo "$CERT" | base64 -d
%%
cat <<EOF | sed 's/__IP__/10.0.0.1/' > cfg; cat cfg
address: __IP__
EOF
%%
if [ -f /etc/os-release ]; then . /etc/os-release; fi; [ -n "$ID" ] && echo "has id"
%%
test -d /run/systemd/system0 || echo 'no systemd'; [ "$(ps -p 1 -o comm= 2>/dev/null)" = nothing ] || echo other
%%
echo "kubelet" | grep -qw kubelet && echo word; printf 'swap on\n' | grep -q '^swap' && echo swap
%%
PODS=3; [ $PODS -gt 2 ] && echo many || echo few; [ "$PODS" = "3" ] && { echo three; echo really; }
%%
OLD=$(cat none 2>/dev/null || true); [ -z "$OLD" ] && echo nothing
%%
echo 'export A=5' > env; set -a; . ./env; B=6; set +a; sh -c 'echo $A $B'
%%
while [ ! -f flag ]; do touch flag; done; echo "flag there"
%%
(set -x; true) 2>/dev/null; set -x 2>/dev/null; { set +x; } 2>/dev/null; echo traced
%%
MAC=$(printf '2: eth0: <UP> mtu 1500 \\    link/ether 00:0d:3a:01:00:04 brd ff\n' | grep ether | awk '{print $(NF-2)}'); echo $MAC
%%
a="x"; a="$a y"; a="${a} z"; echo "$a"; b=$a$a; echo "${#b}"
%%
: "${REQUIRED:?must be set}" 2>/dev/null; echo not reached
%%
echo "token: abc" > t; chmod 600 t; ls -l t | awk '{print $1}'; TOKEN=$(awk '/token:/ {print $2}' t); echo "$TOKEN"
%%
cp /dev/null f; echo "a b" >> f; echo 'c d' >> f; while read -r x y; do echo "$y $x"; done < f
%%
files=$(ls); [ -z "$files" ] && echo 'empty dir'; touch b a; for f in $(ls); do echo "f:$f"; done
%%
test -x /bin/sh && test -r /etc/passwd && echo access; grep -c '^root:' /etc/passwd
%%
printf '%s\n' 10.0.0.1 10.0.0.2 | while read -r ip; do echo "server $ip:6443"; done > hap.cfg; cat hap.cfg
%%
echo 'a=1&b=2' | tr '&' '\n' | grep '^b=' | cut -d= -f2
%%
x=$( (echo inner; exit 3) ); echo "$x $?"
%%
if out=$(false); then echo ok; else echo "failed $?"; fi
%%
[ "$(echo 'v1.28.1' | sed 's/^v//')" = 1.28.1 ] && echo stripped
%%
printf '[Match]\nMACAddress=%s\n' 00:11 > n; cat n; sed -n 's/^MACAddress=//p' n
%%
trap 'echo "exit code: $?"' EXIT; set -e; echo step1; ls /nosuch 2>/dev/null; echo step2
%%
{ echo "a"; false; } && echo yes || echo "no $?"
%%
LINES=$(printf '1\n2\n3\n' | wc -l); echo "$LINES lines"; test "$LINES" -eq 3 && echo eq
%%
set -- $(echo "k1=v1 k2=v2"); for kv; do eval "$kv"; done; echo $k1 $k2
%%
echo "$((1024*1024))" "$(( 5 > 3 ))" "$((10 - 2 * 3))"; i=10; while [ $((i -= 3)) -gt 0 ]; do echo $i; done
%%
head -c 16 /dev/urandom | base64 | wc -c; head -c 8 /dev/zero | wc -c
%%
echo done | tee -a log1 log2 >/dev/null && cat log1 log2; wc -c < log1
%%
kubeadm_cfg=$(cat <<'YAML'
apiVersion: v1
kind: X
YAML
); printf '%s\n' "$kubeadm_cfg" | grep kind
%%
[ -n "${SSH_X-}" ] || echo unset; [ "${A:-no}" = no ] && echo default
%%
echo a >a; echo b >b; cat a b >c && mv c d && cat d | sort -r | head -n1
%%
ulimit -n >/dev/null 2>&1; echo $?; true & wait; echo waited
%%
kill -0 $$ && echo alive
%%
echo $$ | grep -cE '^[0-9]+$'; echo "$-" | grep -c x
%%
# bash
echo "${PIPESTATUS[0]}"; false | true; echo "${PIPESTATUS[@]}"
%%
# bash
f() { echo "${FUNCNAME[0]}"; }; f
%%
# bash
SECONDS=0; echo "$SECONDS" | grep -c .
%%
# bash
set -o noclobber; echo a > f; echo b > f 2>/dev/null || echo refused
%%
# bash
exec {fd}>out 2>/dev/null; echo x
%%
exec 9>lock; flock -n 9 && echo got; echo "x" >&9 2>/dev/null; echo end
%%
python3 -c 'print(1)' >/dev/null 2>&1; perl -e 'print 1' >/dev/null 2>&1; openssl version >/dev/null 2>&1; echo "after"
%%
sed --foo s/a/b/ f 2>/dev/null; echo $?; ls --wrong 2>/dev/null; echo $?; grep --nosuch x f 2>/dev/null; echo $?
