#!/usr/bin/env bash
# Holds that each patch of docs/upstream applies to the release of Cluster API that go.mod requires, and that its test fails
# without the patch and passes with it. The tests run alone: those beside them in Cluster API start an API server.
set -euo pipefail
cd "$(dirname "$0")/.."
module=sigs.k8s.io/cluster-api
tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
cp go.sum "$tmp/go.sum"
go mod edit -print -replace "$module=$tmp/$module" >"$tmp/go.mod"
original=$(go list -m -f '{{.Dir}}' $module)
for patch in ${*:-docs/upstream/*.patch}; do
	test=$(sed -n 's,^+++ b/\(.*_test\.go\)$,\1,p' "$patch")
	name=$(sed -n 's,^+func \(Test[A-Za-z]*\).*,\1,p' "$patch")
	rm -rf "${tmp:?}/$module"
	mkdir -p "$tmp/$module"
	cp -r "$original/." "$tmp/$module"
	chmod -R u+w "$tmp/$module"
	rm "$tmp/$module/$(dirname "$test")"/*_test.go
	patch --quiet --directory="$tmp/$module" --strip=1 <"$patch"
	run() { go test -mod=mod -modfile="$tmp/go.mod" -vet=off -run "^$name\$" "$module/$(dirname "$test")"; }
	run >"$tmp/with" 2>&1 || { cat "$tmp/with"; echo "$patch: $name fails with the patch"; exit 1; }
	cp "$tmp/$module/$test" "$tmp/test.go"
	patch --quiet --directory="$tmp/$module" --strip=1 --reverse <"$patch"
	cp "$tmp/test.go" "$tmp/$module/$test"
	if run >"$tmp/without" 2>&1 || ! grep -q -e "^--- FAIL: $name" "$tmp/without"; then
		cat "$tmp/without"
		echo "$patch: $name does not fail without the patch"
		exit 1
	fi
	echo "$patch: $name fails without it and passes with it"
done
