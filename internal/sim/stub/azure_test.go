package stub

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const testGroup = "/subscriptions/s/resourceGroups/demo"

// TestTarget: a request for a resource ID that a guest wrote goes to the resource manager, or
// nowhere.
func TestTarget(t *testing.T) {
	a := &arm{azure: Azure{Endpoint: "https://127.0.0.1:4443"}}
	for name, c := range map[string]struct{ path, want string }{
		"a resource":           {testGroup, "https://127.0.0.1:4443" + testGroup + "?api-version=" + groupVersion},
		"a further page":       {"https://127.0.0.1:4443/subscriptions/s?page=2", "https://127.0.0.1:4443/subscriptions/s?page=2"},
		"another server":       {"http://127.0.0.1:22/", ""},
		"a longer port":        {"https://127.0.0.1:44430/x", ""},
		"behind a user name":   {"@127.0.0.1:22/x", ""},
		"behind a dot":         {".example.com/x", ""},
		"nothing":              {"", ""},
		"the parent":           {testGroup + "/../other", ""},
		"an empty segment":     {"//example.com/x", ""},
		"a query of its own":   {testGroup + "?api-version=1#", ""},
		"an escaped separator": {testGroup + "/a%2f..%2fb", ""},
		"a line of its own":    {testGroup + "/a\r\nHost: b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := a.target(c.path)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestHasType(t *testing.T) {
	for name, c := range map[string]struct {
		id   string
		kind string
		want bool
	}{
		"a disk":             {testGroup + "/providers/Microsoft.Compute/disks/d", diskType, true},
		"in lower case":      {strings.ToLower(testGroup) + "/providers/microsoft.compute/disks/d", diskType, true},
		"the resource group": {testGroup, diskType, false},
		"a machine":          {testGroup + "/providers/Microsoft.Compute/virtualMachines/v", diskType, false},
		"all disks":          {testGroup + "/providers/Microsoft.Compute/disks", diskType, false},
		"a share":            {Share{"demo", "acc", "one"}.ID("s"), shareType, true},
		"a share's parts with a type of their own": {
			Share{"demo", "acc/blobServices/default/containers/x", "one"}.ID("s"), shareType, false},
		"no ID": {"http://127.0.0.1/", diskType, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hasType(c.id, c.kind); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestHostileVolumes: invented volumes and nodes of a guest cause no request.
func TestHostileVolumes(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	azure := Azure{Endpoint: server.URL, Authority: server.URL, HTTP: http.DefaultClient}
	for name, c := range map[string]struct {
		driver           csiDriver
		handle, provider string
	}{
		"another server":     {azureDisk, server.URL + "/steal", ""},
		"the resource group": {azureDisk, testGroup, ""},
		"a machine":          {azureDisk, testGroup + "/providers/Microsoft.Compute/virtualMachines/v", ""},
		"a share elsewhere":  {azureFile, "demo/providers/Microsoft.Compute/virtualMachines/v#a#b", ""},
		"a node elsewhere":   {azureDisk, testGroup + "/providers/Microsoft.Compute/disks/d", "azure://" + server.URL + "/x"},
		"a node of a group":  {azureDisk, testGroup + "/providers/Microsoft.Compute/disks/d", "azure://" + testGroup},
	} {
		t.Run(name, func(t *testing.T) {
			pv := &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "hostile-", Annotations: map[string]string{provisionedBy: c.driver.name}},
				Spec: corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
					PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete}}
			pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: c.driver.name, VolumeHandle: c.handle}
			pv, err := shared.client.CoreV1().PersistentVolumes().Create(t.Context(), pv, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pv.Status.Phase = corev1.VolumeReleased
			node := pv.Name
			readyNode(t, node, "10.0.0.9", c.provider, corev1.ConditionTrue)
			p := &provisioner{csiDriver: c.driver, client: shared.client,
				arm: &arm{azure: azure, c: AzureConfig{SubscriptionID: "s", ResourceGroup: "demo", ClientID: "a", ClientSecret: "b"}}}
			if c.provider == "" {
				if err := p.reclaim(t.Context(), pv); err == nil {
					t.Error("the volume was deleted")
				}
			}
			if c.driver.disk {
				a := &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{NodeName: node,
					Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv.Name}}}
				if _, err := p.move(t.Context(), a); err == nil {
					t.Error("the volume was attached")
				}
			}
			if n := asked.Swap(0); n > 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
