#!/usr/bin/env bash
# Lets updates that change neither the spec nor the labels pass by the webhooks in FILE,
# which have nothing to say of them: controllers write finalizers, owners and annotations
# often. So does the first write of a provider ID, which is casement's own. controller-gen
# knows no matchConditions.
set -euo pipefail
changed() { echo "has(object.$1) != has(oldObject.$1) || (has(object.$1) \&\& object.$1 != oldObject.$1$2)"; }
same="object.spec.all(k, k == 'providerID' || (k in oldObject.spec \&\& object.spec[k] == oldObject.spec[k]))"
named="!has(oldObject.spec.providerID) \&\& size(object.spec) == size(oldObject.spec) + 1 \&\& $same"
sed -i "s/^  matchPolicy: .*/  matchConditions:\n  - expression: \"request.operation != 'UPDATE' || $(changed spec " \&\& !($named)") || $(changed metadata.labels "")\"\n    name: spec-or-labels\n&/" "$1"
