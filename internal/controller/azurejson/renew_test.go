package azurejson

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func TestRenew(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	owner := &infrav1.AzureMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "t", UID: "u"}}
	now := metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "AzureMachineTemplate", Name: "t",
		UID: "u", Controller: new(true), BlockOwnerDeletion: new(true)}
	old := now
	old.APIVersion = infrav1.GroupVersion.Group + "/v1alpha1"
	data := map[string][]byte{"azure.json": []byte("{}")}
	for name, test := range map[string]struct {
		owners  []metav1.OwnerReference
		data    map[string][]byte
		changed bool
	}{
		"as wanted":            {[]metav1.OwnerReference{now}, data, false},
		"no owner":             {nil, data, true},
		"owner of old version": {[]metav1.OwnerReference{old}, data, true},
		"other data":           {[]metav1.OwnerReference{now}, map[string][]byte{"azure.json": nil}, true},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", OwnerReferences: test.owners},
				Data:       test.data,
			}
			changed, err := renew(secret, owner, data, scheme)
			if err != nil || changed != test.changed {
				t.Errorf("changed %t, %v; want %t", changed, err, test.changed)
			}
			if len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].APIVersion != now.APIVersion {
				t.Errorf("owners %v, want one of %s", secret.OwnerReferences, now.APIVersion)
			}
		})
	}
}
