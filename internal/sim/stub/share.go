package stub

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Share is a file share of a storage account, which a volume handle of the driver names.
type Share struct{ Group, Account, Name string }

// ParseShare returns the share that a handle names; ok is false for a handle that names none.
func ParseShare(handle string) (s Share, ok bool) {
	parts := strings.Split(handle, "#")
	if len(parts) < 3 {
		return Share{}, false
	}
	return Share{parts[0], parts[1], parts[2]}, true
}

// handle returns the handle of the share; namespace is the namespace of the Secret with its account's key.
// Source: azurefile-csi-driver, pkg/azurefile/azurefile.go.
func (s Share) handle(namespace string) string {
	return strings.Join([]string{s.Group, s.Account, s.Name, "", namespace}, "#")
}

// AccountID returns the resource ID of the account in a subscription.
func (s Share) AccountID(subscription string) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Storage/storageAccounts/%s", subscription, s.Group, s.Account)
}

// ID returns the resource ID of the share in a subscription.
func (s Share) ID(subscription string) string {
	return s.AccountID(subscription) + "/fileServices/default/shares/" + s.Name
}

// shareGroup is the annotation with the resource group of an in-tree share.
const shareGroup = "kubernetes.io/azure-file-resource-group"

// ShareKey is the key of a Secret's data with a storage account's key. Source: azurefile-csi-driver, docs/driver-parameters.md.
const ShareKey = "azurestorageaccountkey"

// secretBefore and secretAfter surround the account's name in the name of the Secret with its key.
// Source: as for ShareKey.
const secretBefore, secretAfter = "azure-storage-account-", "-secret"

func (s Share) secret() string { return secretBefore + s.Account + secretAfter }

// ShareHandle returns the driver's handle for a share of the in-tree plug-in. Source:
// k8s.io/csi-translation-lib, TranslateInTreePVToCSI.
func ShareHandle(pv *corev1.PersistentVolume) string {
	ref := ShareSecret(pv)
	account := strings.TrimSuffix(strings.TrimPrefix(ref.Name, secretBefore), secretAfter)
	return Share{pv.Annotations[shareGroup], account, pv.Spec.AzureFile.ShareName}.handle(ref.Namespace)
}

// ShareSecret returns the Secret with the key of a share's account: the Secret that the volume
// names, or else the driver's own.
func ShareSecret(pv *corev1.PersistentVolume) corev1.SecretReference {
	ref := corev1.SecretReference{Namespace: metav1.NamespaceDefault}
	if source := pv.Spec.AzureFile; source != nil {
		ref.Name = source.SecretName
		if source.SecretNamespace != nil {
			ref.Namespace = *source.SecretNamespace
		}
		return ref
	}
	if named := pv.Spec.CSI.NodeStageSecretRef; named != nil {
		return *named
	}
	share, _ := ParseShare(pv.Spec.CSI.VolumeHandle) // a handle that names no share has no key
	ref.Name = share.secret()
	return ref
}
