package integration

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/credential"
	"casement.dev/casement/internal/grant"
	"casement.dev/casement/internal/manager"
)

// references lists the fields of all kinds that can name an object of another namespace, or that
// name a secret in any way. Every new field must be added here, either with an attack in TestTenant
// or with the reason why none is possible.
var references = map[string]string{
	"AzureClusterIdentity spec.clientSecret":              "tried: names a Secret",
	"AzureCluster spec.identityRef":                       "tried: names an AzureClusterIdentity, and with another kind nothing else",
	"AzureClusterTemplate spec.template.spec.identityRef": "the same, once it is an AzureCluster's",
	"AzureMachinePoolMachine status.nodeRef":              "written by the manager, and read by no controller",
}

// TestReferencesAreKnown checks that references lists all such fields of all kinds.
func TestReferencesAreKnown(t *testing.T) {
	scheme, err := manager.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for kind, goType := range scheme.KnownTypes(infrav1.GroupVersion) {
		if goType.PkgPath() != reflect.TypeFor[infrav1.AzureCluster]().PkgPath() || strings.HasSuffix(kind, "List") {
			continue
		}
		walkReferences(goType, "", func(path string) { found[kind+" "+path] = true })
	}
	for path := range found {
		if references[path] == "" {
			t.Errorf("%s can name something in another namespace, and nothing is known of what the manager does with it", path)
		}
	}
	for path, why := range references {
		if why != "" && !found[path] {
			t.Errorf("%s is gone", path)
		}
	}
	t.Log(slices.Sorted(maps.Keys(found)))
}

func walkReferences(t reflect.Type, path string, report func(string)) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		walkReferences(t.Elem(), path, report)
	case reflect.Struct:
		if t.PkgPath() == reflect.TypeFor[metav1.ObjectMeta]().PkgPath() {
			return
		}
		if t.PkgPath() == reflect.TypeFor[corev1.Secret]().PkgPath() && (strings.Contains(t.Name(), "Reference") ||
			strings.Contains(t.Name(), "Selector") || strings.Contains(t.Name(), "Source")) {
			report(path)
			return
		}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			at := strings.TrimPrefix(path+"."+name, ".")
			if name == "" {
				at = path
			}
			if strings.Contains(strings.ToLower(name), "secret") && t.Field(i).Type.Kind() == reflect.String {
				report(at)
			}
			walkReferences(t.Field(i).Type, at, report)
		}
	}
}

// canary is the secret of tenant a that tenant b must not see.
const canary = "c4n4ry-0f-t3n4nt-4"

// tenants contains two namespaces, and a client with all rights in the second namespace only.
type tenants struct {
	*bed
	a string
	b client.Client
	// allowedBefore is set if the secret was used legitimately before, so that resources created
	// with it may still contain it.
	allowedBefore bool
}

func newTenants(t *testing.T, labels map[string]string) *tenants {
	t.Helper()
	b := newBedIn(t, labels)
	s := &tenants{bed: b, a: b.name + "-a"}
	b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.a, Labels: labels}})
	b.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.a, Name: "sp"},
		Data: map[string][]byte{"clientSecret": []byte(canary)}})
	user := "user-of-" + b.name
	b.create(&rbacv1.Role{ObjectMeta: b.meta("all"),
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}})
	b.create(&rbacv1.RoleBinding{
		ObjectMeta: b.meta("all"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "all"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	})
	cfg := rest.CopyConfig(b.config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	cfg.WarningHandler = rest.NoWarnings{}
	var err error
	if s.b, err = client.New(cfg, client.Options{Scheme: b.client.Scheme()}); err != nil {
		t.Fatal(err)
	}
	return s
}

// identity returns an AzureClusterIdentity of tenant b that names tenant a's secret.
func (s *tenants) identity(name string) *infrav1.AzureClusterIdentity {
	return &infrav1.AzureClusterIdentity{ObjectMeta: s.meta(name), Spec: infrav1.AzureClusterIdentitySpec{
		Type: infrav1.ServicePrincipal, ClientID: "client-" + s.name, TenantID: tenant,
		ClientSecret: corev1.SecretReference{Name: "sp", Namespace: s.a}, AllowedNamespaces: &infrav1.AllowedNamespaces{},
	}}
}

// use lets the cluster of tenant b use an identity, and waits until its condition has the reason.
func (s *tenants) use(identity, reason string) {
	s.t.Helper()
	if s.azureC.UID == "" {
		s.azureC.Spec.IdentityRef.Name = identity
		s.create(s.azureC)
		// The template's azure.json would contain the secret.
		s.create(&infrav1.AzureMachineTemplate{ObjectMeta: s.owned("template", "Cluster",
			s.cluster), Spec: infrav1.AzureMachineTemplateSpec{
			Template: infrav1.AzureMachineTemplateResource{Spec: infrav1.AzureMachineSpec{VMSize: vmSize,
				OSDisk: infrav1.OSDisk{OSType: "Linux", DiskSizeGB: new(int32(128))}, SSHPublicKey: anyKey}},
		}})
	} else {
		s.change(s.azureC, func() { s.azureC.Spec.IdentityRef.Name = identity })
	}
	s.eventually(s.azureC, func() string {
		c := conditions.Get(s.azureC, infrav1.NetworkInfrastructureReadyCondition)
		if c == nil ||
			reason != "" && (c.Reason != reason || !strings.Contains(c.Message, s.namespace+"/"+identity)) ||
			reason == "" && c.Reason == "IdentitySecretNotAllowed" {
			return identity + ": not " + reason
		}
		return ""
	})
	if reason != "" && !s.allowedBefore {
		s.unseen(identity)
	}
}

// unseen checks that no object that tenant b can read contains tenant a's secret.
func (s *tenants) unseen(what string) {
	s.t.Helper()
	var secrets corev1.SecretList
	if err := s.b.List(s.t.Context(), &secrets, client.InNamespace(s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	for _, secret := range secrets.Items {
		for key, value := range secret.Data {
			if strings.Contains(string(value), canary) {
				s.t.Errorf("%s: secret %s of tenant b holds tenant a's under %s", what, secret.Name, key)
			}
		}
	}
	data, err := json.Marshal(s.azureC)
	if err != nil || strings.Contains(string(data), canary) {
		s.t.Errorf("%s: the AzureCluster holds the secret, %v", what, err)
	}
}

const anyKey = "c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSU1xS2hSU3M0UjdLc0JSdmRsVTZXR25aQ2VxVjA1ZlNIM2hmYkZ5dVRTdDcgdGVzdAo="

// TestTenant checks that a user with every right in one namespace cannot use a secret of another
// namespace.
func TestTenant(t *testing.T) {
	t.Parallel()
	admitting(t, func(t *testing.T, labels map[string]string) {
		s := newTenants(t, labels)
		s.sane(labels)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		// The simplest case: a reference to the other tenant's secret.
		must(s.b.Create(t.Context(), s.identity("plain")))
		s.use("plain", "IdentitySecretNotAllowed")
		// The answers for a missing secret and for an existing one are equal.
		missing := s.identity("missing")
		missing.Spec.ClientSecret.Name = "none"
		must(s.b.Create(t.Context(), missing))
		s.use("missing", "IdentitySecretNotAllowed")
		// The identity names a secret of the same namespace first, then the other tenant's secret.
		own := s.identity("changed")
		own.Spec.ClientSecret.Namespace = s.namespace
		must(s.b.Create(t.Context(), own))
		own.Spec.ClientSecret.Namespace = s.a
		must(s.b.Update(t.Context(), own))
		s.use("changed", "IdentitySecretNotAllowed")
		// The identity has the contents of an allowed record and of a Secret that allows the
		// identity.
		forged := s.identity("forged")
		forged.Annotations = map[string]string{grant.IdentitiesAnnotation: s.namespace + "/forged",
			"infrastructure.cluster.x-k8s.io/grant": "identity-secret"}
		must(s.b.Create(t.Context(), forged))
		must(s.b.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: s.meta("identity-secret-forged"),
			Data: map[string]string{"uid": string(forged.UID), "secret": s.a + "/sp"}}))
		if err := s.b.Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: grantNamespace, Name: "forged"}}); err == nil {
			t.Error("tenant b writes where the records are")
		}
		s.use("forged", "IdentitySecretNotAllowed")
		// The manager's own writes, of finalizers, give no permission.
		admin := s.identity("touched")
		must(s.b.Create(t.Context(), admin))
		s.change(admin, func() { admin.Labels = map[string]string{"touched": "by-an-administrator"} })
		s.use("touched", "IdentitySecretNotAllowed")
		if labels == nil {
			s.allowedWays(true) // admission refuses a reference to another kind
			return
		}
		// A reference to an identity cannot be changed to refer to a Secret.
		s.change(s.azureC, func() {
			s.azureC.Spec.IdentityRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: s.a, Name: "sp"}
		})
		s.eventually(s.azureC, func() string {
			if conditions.GetReason(s.azureC, infrav1.NetworkInfrastructureReadyCondition) != "IdentityNotFound" {
				return "a Secret is taken for an identity"
			}
			return ""
		})
		s.change(s.azureC, func() { s.azureC.Spec.IdentityRef = &corev1.ObjectReference{Name: "plain"} })
		s.allowedWays(false)
	})
}

// allowedWays checks the ways in which a secret of another namespace may be used.
func (s *tenants) allowedWays(admission bool) {
	t := s.t
	// An administrator who may read the secret wrote the reference, as in CAPZ's manifests.
	byAdmin := s.identity("by-admin")
	s.create(byAdmin)
	reason := ""
	if !admission {
		reason = "IdentitySecretNotAllowed" // without admission, no webhook recorded who wrote the reference
	}
	s.use("by-admin", reason)
	s.forgetSecrets()
	// Another identity with the same name is not allowed.
	s.use("plain", "IdentitySecretNotAllowed")
	s.change(byAdmin, func() { byAdmin.Finalizers = nil })
	if err := s.b.Delete(t.Context(), byAdmin); err != nil {
		t.Fatal(err)
	}
	if err := s.b.Create(t.Context(), s.identity("by-admin")); err != nil {
		t.Fatal(err)
	}
	s.use("by-admin", "IdentitySecretNotAllowed")
	// The Secret names the identity that may use it, and no other.
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.a, Name: "sp"}}
	s.change(secret, func() {
		secret.Annotations = map[string]string{grant.IdentitiesAnnotation: "other/x, " + s.namespace + "/plain"}
	})
	s.use("plain", "")
	s.forgetSecrets()
	s.use("forged", "IdentitySecretNotAllowed")
	if ready := conditions.Get(s.azureC, clusterv1.ReadyCondition); ready == nil {
		t.Error("nothing is said")
	}
}

// forgetSecrets deletes the objects that were legitimately created with the secret.
func (s *tenants) forgetSecrets() {
	s.t.Helper()
	s.allowedBefore = true
	s.use("missing", "IdentitySecretNotAllowed")
	if err := s.b.DeleteAllOf(s.t.Context(), &corev1.Secret{}, client.InNamespace(s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	s.allowedBefore = false
}

// TestClientSecretIsRead checks that permission to use an identity does not include permission to
// read its client secret. The azure.json of a machine without an identity contains the secret in
// the secret's own namespace, and in other namespaces only if the secret's owner allows it.
func TestClientSecretIsRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// annotate adds the annotations with which the owner allows it.
		annotate func(i *infrav1.AzureClusterIdentity, s *corev1.Secret, namespace string)
		// machine changes the template's spec.
		machine func(*infrav1.AzureMachineSpec)
		own     bool // the cluster is in the secret's own namespace
		reads   bool
		refused bool
	}{
		{name: "in its own namespace", own: true, reads: true},
		{name: "elsewhere", refused: true},
		{name: "elsewhere with an identity of its own",
			machine: func(s *infrav1.AzureMachineSpec) { s.Identity = infrav1.VMIdentitySystemAssigned }},
		{name: "allowed by the identity", reads: true,
			annotate: func(i *infrav1.AzureClusterIdentity, _ *corev1.Secret, namespace string) {
				i.Annotations = map[string]string{infrav1.ClientSecretNamespacesAnnotation: "other, " + namespace}
			}},
		{name: "allowed by the secret", reads: true,
			annotate: func(_ *infrav1.AzureClusterIdentity, s *corev1.Secret, _ string) {
				s.Annotations = map[string]string{infrav1.ClientSecretNamespacesAnnotation: "*"}
			}},
		{name: "allowed for another namespace", refused: true,
			annotate: func(i *infrav1.AzureClusterIdentity, _ *corev1.Secret, namespace string) {
				i.Annotations = map[string]string{infrav1.ClientSecretNamespacesAnnotation: namespace + "-2"}
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			owner := b.meta("shared")
			if !test.own {
				owner.Namespace = "owner-of-" + b.namespace
				b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: owner.Namespace}})
			}
			secret := &corev1.Secret{ObjectMeta: owner, Data: map[string][]byte{"clientSecret": []byte("good")}}
			identity := &infrav1.AzureClusterIdentity{ObjectMeta: owner, Spec: infrav1.AzureClusterIdentitySpec{
				Type: infrav1.ServicePrincipal, ClientID: "client-" + b.name, TenantID: tenant,
				ClientSecret:      corev1.SecretReference{Name: owner.Name, Namespace: owner.Namespace},
				AllowedNamespaces: &infrav1.AllowedNamespaces{},
			}}
			if test.annotate != nil {
				test.annotate(identity, secret, b.namespace)
			}
			b.create(secret)
			b.create(identity)
			b.azureC.Spec.IdentityRef.Name, b.azureC.Spec.IdentityRef.Namespace = owner.Name, owner.Namespace
			b.provision()
			template := &infrav1.AzureMachineTemplate{ObjectMeta: b.owned("template", "Cluster", b.cluster)}
			spec := &template.Spec.Template.Spec
			spec.VMSize, spec.SSHPublicKey = vmSize, anyKey
			spec.OSDisk = infrav1.OSDisk{OSType: "Linux", DiskSizeGB: new(int32(128))}
			if test.machine != nil {
				test.machine(spec)
			}
			// A Secret that an older version of casement wrote.
			old := &corev1.Secret{ObjectMeta: b.meta("template-azure-json"), Data: map[string][]byte{"azure.json": []byte("good")}}
			old.Labels = map[string]string{b.name: desired.Owned}
			b.create(old)
			b.create(template)
			b.eventually(template, func() string {
				b.get(old)
				data := string(old.Data["azure.json"])
				said := conditions.GetReason(template, infrav1.AzureJSONReadyCondition)
				switch {
				case test.refused && (said != credential.SecretNotReadable || len(old.Data) > 0):
					return "not refused"
				case !test.refused && (!strings.Contains(data, `"tenantId"`) || said != ""):
					return "not written"
				case strings.Contains(data, `"good"`) != test.reads:
					return "wrong: " + data
				}
				return ""
			})
		})
	}
}
