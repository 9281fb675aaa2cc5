#cloud-boothook
#!/bin/sh
# Fetches this machine's bootstrap script from Azure Key Vault, as the identity that
# alone may read it. No secret is in this file, on a command line or in the output.
done=/var/lib/casement/bootstrapped
dir=/run/casement
test -e "$done" && exit 0
mkdir -p "$dir"
chmod 0700 "$dir"
say() { echo "casement-bootstrap: $*"; }
# field prints the text of a JSON answer's member; what is asked for has no quotes.
field() {
  case "$2" in
  *"\"$1\":\""*)
    rest=${2#*"\"$1\":\""}
    echo "${rest%%\"*}"
    ;;
  esac
}
try=0
reason="no answer"
while [ "$try" -lt 90 ]; do
  try=$((try + 1))
  answer=$(curl -sS --noproxy '*' --max-time 10 -H Metadata:true '@TOKEN_URL@' 2>&1)
  token=$(field access_token "$answer")
  if [ -z "$token" ]; then
    reason="the instance metadata service gives no token: $(field error_description "$answer")"
  else
    answer=$(printf 'header = "Authorization: Bearer %s"\n' "$token" | curl -sS --max-time 10 -K - '@SECRET_URL@' 2>&1)
    value=$(field value "$answer")
    if [ -n "$value" ]; then
      echo "$value" | tr '_-' '/+' | base64 -d | gzip -d >"$dir/bootstrap.sh"
      say "the bootstrap secret was fetched (try $try)"
      exit 0
    fi
    reason="the key vault refuses: $(field code "$answer")"
  fi
  sleep 10
done
say "cannot fetch the bootstrap secret after $try tries: $reason"
exit 1
