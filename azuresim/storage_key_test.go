package azuresim

import (
	"testing"

	"casement.dev/casement/azuresim/internal/storage"
	"casement.dev/casement/azuresim/internal/value"
)

// TestStorageKeys: the ID of an account is not enough to compute its keys, and an account that is
// created again has other keys.
func TestStorageKeys(t *testing.T) {
	const path = "resourcegroups/g/providers/Microsoft.Storage/storageAccounts/account1"
	keys := func(a *azure) (keys []string) {
		a.carried("PUT", path, `{"location":"westeurope","kind":"StorageV2","sku":{"name":"Standard_LRS"}}`)
		for _, k := range value.Items(a.carried("POST", path+"/listKeys", ""), "keys") {
			keys = append(keys, value.Str(k, "value"))
		}
		if len(keys) != 2 || keys[0] == keys[1] {
			t.Fatalf("the keys are %q", keys)
		}
		for _, key := range keys {
			if !storage.TakesKey(a.Server, idOf(path), key) {
				t.Error("the account does not take its key")
			}
		}
		return keys
	}
	a, b := start(t, Config{}), start(t, Config{})
	defer a.Close()
	defer b.Close()
	a.group()
	b.group()
	first, other := keys(a), keys(b)
	if same := keys(a); same[0] != first[0] {
		t.Error("an account that is written again has other keys")
	}
	a.carried("DELETE", path, "")
	again := keys(a)
	for name, key := range map[string]string{"another Azure's": other[0], "the deleted account's": first[0], "none": ""} {
		if storage.TakesKey(a.Server, idOf(path), key) {
			t.Errorf("the account takes %s key", name)
		}
	}
	if again[0] == first[0] {
		t.Error("an account that is made again has the same keys")
	}
}
