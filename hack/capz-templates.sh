#!/usr/bin/env bash
# Writes the cluster templates of CAPZ's releases, of the newest patch of each minor from v1.10 on, to a
# directory with a folder for each release: hack/capz-templates.sh CLONE DIR, where CLONE is a clone of
# github.com/kubernetes-sigs/cluster-api-provider-azure with its tags.
set -euo pipefail
clone=$1 dir=$2
mkdir -p "$dir"
git -C "$clone" tag --list 'v1.*' --sort=v:refname | grep -E '^v1\.[1-9][0-9]+\.[0-9]+$' |
	awk -F. '{ newest[$2] = $0 } END { for (m in newest) print newest[m] }' | sort -V | while read -r tag; do
	mkdir "$dir/$tag"
	git -C "$clone" ls-tree -r --name-only "$tag" templates | grep -E '^templates/(test/(ci|dev)/)?cluster-template[^/]*\.yaml$' | while read -r file; do
		name=${file#templates/}
		git -C "$clone" show "$tag:$file" >"$dir/$tag/${name//\//-}"
	done
done
