package identity

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/identity"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/credential"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/testing/emulator"
	"casement.dev/casement/internal/testing/kubetest"
)

const (
	publicTenant = "00000000-0000-0000-0000-0000000000f1"
	chinaTenant  = "00000000-0000-0000-0000-0000000000f2"
	publicSub    = "00000000-0000-0000-0000-000000000001"
	chinaSub     = "00000000-0000-0000-0000-000000000002"
	chinaCloud   = "AzureChinaCloud"
)

var (
	kubernetes client.Client
	restConfig *rest.Config
)

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(plane *kubeproc.Plane) error {
		crds, err := config.CRDs()
		if err != nil {
			return err
		}
		providers, err := capi.Manifests("127.0.0.1", capi.Ports{}, nil, false)
		if err != nil {
			return err
		}
		for _, crd := range providers[0].CRDs { // CRDs of Cluster API's core; its webhooks do not run here
			crd.Spec.Conversion = nil
			crds = append(crds, crd)
		}
		if err := kubeproc.InstallCRDs(context.Background(), plane.Config(), crds); err != nil {
			return err
		}
		restConfig = plane.Config()
		scheme, err := manager.Scheme()
		if err != nil {
			return err
		}
		kubernetes, err = client.New(plane.Config(), client.Options{Scheme: scheme})
		return err
	}))
}

// azure starts a local Azure over HTTPS that accepts logins of the given clients only.
func azure(t *testing.T, tenant, subscription string, clients ...azuresim.Client) (*azuresim.Azure, identity.Cloud) {
	t.Helper()
	served := emulator.Serve(t, azuresim.Config{TenantID: tenant, Subscriptions: []string{subscription}, Clients: clients})
	return served.Azure, served.Cloud
}

// keyPair returns, in PEM, a certificate with its key and the certificate alone.
func keyPair(t *testing.T) (both, certificate string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject: pkix.Name{CommonName: "app"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return certificate + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})), certificate
}

// scene contains a namespace with one identity and the cluster that uses it.
type scene struct {
	t        *testing.T
	opener   *cloud.Opener
	cluster  *infrav1.AzureCluster
	identity *infrav1.AzureClusterIdentity
	secret   *corev1.Secret
}

// stage creates an identity with a secret, in a new namespace.
func stage(t *testing.T, opener *cloud.Opener, spec infrav1.AzureClusterIdentitySpec, data map[string]string) *scene {
	t.Helper()
	s := &scene{t: t, opener: opener}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "identity-", Labels: map[string]string{"team": "blue"}}}
	s.create(namespace)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace.Name, Name: name} }
	s.secret = &corev1.Secret{ObjectMeta: meta("credentials"), StringData: data}
	if data != nil {
		s.create(s.secret)
		spec.ClientSecret = corev1.SecretReference{Namespace: namespace.Name, Name: "credentials"}
	}
	if spec.TenantID == "" {
		spec.TenantID = publicTenant
	}
	s.identity = &infrav1.AzureClusterIdentity{ObjectMeta: meta("identity"), Spec: spec}
	s.create(s.identity)
	s.cluster = &infrav1.AzureCluster{ObjectMeta: meta("demo")}
	s.cluster.Spec.SubscriptionID, s.cluster.Spec.ResourceGroup = publicSub, "demo"
	s.cluster.Spec.IdentityRef = &corev1.ObjectReference{Name: "identity"}
	return s
}

func (s *scene) create(o client.Object) {
	s.t.Helper()
	if err := kubernetes.Create(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// ask logs in with the cluster's identity and reads the cluster's resource group from Azure.
func (s *scene) ask() error {
	c, err := s.opener.Client(s.t.Context(), s.cluster)
	if err != nil {
		return err
	}
	_, err = c.Get(s.t.Context(), desired.ClusterGroup(s.cluster).ID(), desired.ResourcesAPIVersion)
	if arm.ClassOf(err) == arm.NotFound {
		return nil // the group does not exist, and only an authorized caller gets this answer
	}
	return err
}

func (s *scene) opens() {
	s.t.Helper()
	if err := s.ask(); err != nil {
		s.t.Fatalf("the identity does not open Azure: %v", err)
	}
}

// refused checks the reason of the refusal and that the error contains no secret.
func (s *scene) refused(reason, text string) {
	s.t.Helper()
	err := s.ask()
	if err == nil {
		s.t.Fatal("the identity opens Azure")
	}
	if e, ok := errors.AsType[*credential.IdentityError](err); reason != "" && (!ok || e.Reason != reason) {
		s.t.Errorf("%v, want the reason %s", err, reason)
	}
	if !strings.Contains(err.Error(), text) {
		s.t.Errorf("%v does not say %q", err, text)
	}
	for _, secret := range []string{"good-secret", "old-secret", "PRIVATE KEY"} {
		if strings.Contains(err.Error(), secret) {
			s.t.Error("the error shows the secret")
		}
	}
}

// rotate replaces the content of the identity's secret.
func (s *scene) rotate(data map[string]string) {
	s.t.Helper()
	s.secret.Data, s.secret.StringData = nil, data
	if err := kubernetes.Update(s.t.Context(), s.secret); err != nil {
		s.t.Fatal(err)
	}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// federated returns a service account token, and the public key of its signer.
func federated(t *testing.T, subject string) (token, keys string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	token, err = jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": "https://issuer.test/", "sub": subject, "aud": []string{"api://AzureADTokenExchange"},
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// TestTypes opens Azure with every type of identity.
func TestTypes(t *testing.T) {
	both, certificate := keyPair(t)
	credentials, err := json.Marshal(map[string]string{"client_id": "cert-app", "tenant_id": publicTenant,
		"client_secret": base64.StdEncoding.EncodeToString([]byte(both))})
	if err != nil {
		t.Fatal(err)
	}
	token, keys := federated(t, "system:serviceaccount:casement-system:casement-manager")
	server, public := azure(t, publicTenant, publicSub,
		azuresim.Client{ID: "app", Secret: "good-secret"}, azuresim.Client{ID: "cert-app", Certificate: certificate},
		azuresim.Client{ID: "pod-app", Federated: []azuresim.Federated{{Issuer: "https://issuer.test/",
			Subject: "system:serviceaccount:casement-system:casement-manager", Keys: keys}}})
	opener := cloud.NewOpener(cloud.Config{Client: kubernetes, Clouds: map[string]identity.Cloud{identity.PublicCloud: public}})
	managed := managedIdentity(t, opener, server)
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", write(t, "token", token))
	t.Setenv("IDENTITY_ENDPOINT", public.ResourceManagerEndpoint+"/metadata/identity/oauth2/token")
	t.Setenv("IDENTITY_HEADER", server.Client().Secret)
	for _, tc := range []struct {
		name string
		spec infrav1.AzureClusterIdentitySpec
		data map[string]string
	}{
		{"ServicePrincipal", infrav1.AzureClusterIdentitySpec{Type: infrav1.ServicePrincipal, ClientID: "app"},
			map[string]string{"clientSecret": "good-secret"}},
		{"ManualServicePrincipal",
			infrav1.AzureClusterIdentitySpec{Type: infrav1.ManualServicePrincipal, ClientID: "app"},
			map[string]string{"clientSecret": "good-secret"}},
		{"certificate as CAPZ keeps it",
			infrav1.AzureClusterIdentitySpec{Type: infrav1.ServicePrincipalCertificate, ClientID: "cert-app"},
			map[string]string{"clientSecret": both}},
		{"certificate under its own key",
			infrav1.AzureClusterIdentitySpec{Type: infrav1.ServicePrincipalCertificate, ClientID: "cert-app"},
			map[string]string{"certificate": both}},
		{"certificate in a file", infrav1.AzureClusterIdentitySpec{
			Type: infrav1.ServicePrincipalCertificate, ClientID: "cert-app", CertPath: write(t, "cert", both),
		}, nil},
		{"WorkloadIdentity", infrav1.AzureClusterIdentitySpec{Type: infrav1.WorkloadIdentity, ClientID: "pod-app"}, nil},
		{"UserAssignedMSI", infrav1.AzureClusterIdentitySpec{Type: infrav1.UserAssignedMSI, ClientID: managed}, nil},
		{"UserAssignedIdentityCredential", infrav1.AzureClusterIdentitySpec{
			Type: infrav1.UserAssignedIdentityCredential, ClientID: "cert-app",
			UserAssignedIdentityCredentialsPath:      write(t, "credentials.json", string(credentials)),
			UserAssignedIdentityCredentialsCloudType: "public",
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.spec.AllowedNamespaces = &infrav1.AllowedNamespaces{}
			stage(t, opener, tc.spec, tc.data).opens()
		})
	}
	t.Run("a client that Entra does not know", func(t *testing.T) {
		stage(t, opener, infrav1.AzureClusterIdentitySpec{
			Type: infrav1.ServicePrincipal, ClientID: "unknown", AllowedNamespaces: &infrav1.AllowedNamespaces{},
		}, map[string]string{"clientSecret": "good-secret"}).refused("", "AADSTS700016")
	})
}

// managedIdentity creates a user-assigned identity in Azure and returns its client ID.
func managedIdentity(t *testing.T, opener *cloud.Opener, server *azuresim.Azure) string {
	t.Helper()
	s := stage(t, opener, infrav1.AzureClusterIdentitySpec{
		Type: infrav1.ServicePrincipal, ClientID: "app", AllowedNamespaces: &infrav1.AllowedNamespaces{},
	}, map[string]string{"clientSecret": "good-secret"})
	c, err := opener.Client(t.Context(), s.cluster)
	if err != nil {
		t.Fatal(err)
	}
	group := desired.Group{Subscription: publicSub, Name: "identities"}.ID()
	id := group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/manager"
	location := map[string]any{"location": "westeurope"}
	if _, err := c.Put(t.Context(), group, desired.ResourcesAPIVersion, location); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), id, desired.IdentityAPIVersion, location); err != nil {
		t.Fatal(err)
	}
	live, ok := server.Get(id)
	var body struct {
		Properties struct {
			ClientID string `json:"clientId"`
		} `json:"properties"`
	}
	if !ok || json.Unmarshal(live, &body) != nil || body.Properties.ClientID == "" {
		t.Fatalf("the identity has no client ID: %s", live)
	}
	return body.Properties.ClientID
}

// TestAllowedNamespaces checks that only clusters in the allowed namespaces may use an identity.
func TestAllowedNamespaces(t *testing.T) {
	_, public := azure(t, publicTenant, publicSub, azuresim.Client{ID: "app", Secret: "good-secret"})
	opener := cloud.NewOpener(cloud.Config{Client: kubernetes, Clouds: map[string]identity.Cloud{identity.PublicCloud: public}})
	selector := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	for _, tc := range []struct {
		name    string
		allowed *infrav1.AllowedNamespaces
		opens   bool
	}{
		{"nil", nil, false},
		{"empty", &infrav1.AllowedNamespaces{}, true},
		{"other list", &infrav1.AllowedNamespaces{NamespaceList: []string{"elsewhere"}}, false},
		{"selector", &infrav1.AllowedNamespaces{Selector: selector("team", "blue")}, true},
		{"other selector", &infrav1.AllowedNamespaces{Selector: selector("team", "red")}, false},
		{"list or selector", &infrav1.AllowedNamespaces{NamespaceList: []string{"elsewhere"}, Selector: selector("team", "blue")}, true},
		{"empty selector", &infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := stage(t, opener, infrav1.AzureClusterIdentitySpec{
				Type: infrav1.ServicePrincipal, ClientID: "app", AllowedNamespaces: tc.allowed,
			}, map[string]string{"clientSecret": "good-secret"})
			if tc.opens {
				s.opens()
				return
			}
			s.refused(credential.NamespaceNotAllowed, "spec.allowedNamespaces")
			s.identity.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{NamespaceList: []string{s.cluster.Namespace}}
			if err := kubernetes.Update(t.Context(), s.identity); err != nil {
				t.Fatal(err)
			}
			s.opens()
		})
	}
}

// TestRotation changes an identity's credentials while a manager runs. The next call uses the new
// credentials; the old ones are not cached.
func TestRotation(t *testing.T) {
	both, certificate := keyPair(t)
	other, _ := keyPair(t)
	_, public := azure(t, publicTenant, publicSub, azuresim.Client{ID: "app", Secret: "good-secret"},
		azuresim.Client{ID: "cert-app", Certificate: certificate})
	opener := cloud.NewOpener(cloud.Config{Client: kubernetes, Clouds: map[string]identity.Cloud{identity.PublicCloud: public}})
	for _, tc := range []struct {
		name, client string
		kind         infrav1.IdentityType
		old, fresh   string
		refusal      string
	}{
		{"secret", "app", infrav1.ServicePrincipal, "old-secret", "good-secret", "AADSTS7000215"},
		{"certificate", "cert-app", infrav1.ServicePrincipalCertificate, other, both, "AADSTS700027"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := stage(t, opener, infrav1.AzureClusterIdentitySpec{
				Type: tc.kind, ClientID: tc.client, AllowedNamespaces: &infrav1.AllowedNamespaces{},
			}, map[string]string{"clientSecret": tc.old})
			s.refused("", tc.refusal)
			s.rotate(map[string]string{"clientSecret": tc.fresh})
			s.opens()
			// The old, invalid credentials again: the token of the valid ones is not used any more.
			s.rotate(map[string]string{"clientSecret": tc.old})
			s.refused("", tc.refusal)
		})
	}
	t.Run("certificate file", func(t *testing.T) {
		file := write(t, "cert", other)
		s := stage(t, opener, infrav1.AzureClusterIdentitySpec{Type: infrav1.ServicePrincipalCertificate,
			ClientID: "cert-app", CertPath: file, AllowedNamespaces: &infrav1.AllowedNamespaces{}}, nil)
		s.refused("", "AADSTS700027")
		if err := os.WriteFile(file, []byte(both), 0o600); err != nil {
			t.Fatal(err)
		}
		s.opens()
	})
}

// TestSeveralClouds uses two clouds with two tenants from one manager at the same time.
func TestSeveralClouds(t *testing.T) {
	_, public := azure(t, publicTenant, publicSub, azuresim.Client{ID: "app", Secret: "good-secret"})
	_, china := azure(t, chinaTenant, chinaSub, azuresim.Client{ID: "app", Secret: "other-good-secret"})
	opener := cloud.NewOpener(cloud.Config{
		Client: kubernetes, Clouds: map[string]identity.Cloud{identity.PublicCloud: public, chinaCloud: china},
	})
	at := func(tenant, secret, environment, subscription string) *scene {
		s := stage(t, opener, infrav1.AzureClusterIdentitySpec{
			Type: infrav1.ServicePrincipal, ClientID: "app", TenantID: tenant,
			AllowedNamespaces: &infrav1.AllowedNamespaces{},
		}, map[string]string{"clientSecret": secret})
		s.cluster.Spec.AzureEnvironment, s.cluster.Spec.SubscriptionID = environment, subscription
		return s
	}
	home, abroad := at(publicTenant, "good-secret", "", publicSub), at(chinaTenant, "other-good-secret", chinaCloud, chinaSub)
	for range 2 { // the second time from the cache
		home.opens()
		abroad.opens()
	}
	at(chinaTenant, "good-secret", "", publicSub).refused("", "AADSTS90002")
	at(chinaTenant, "good-secret", chinaCloud, chinaSub).refused("", "AADSTS7000215")
}

// TestHoldAtOnce checks that many clusters can add and remove their finalizers on one identity at
// the same time without a conflict.
func TestHoldAtOnce(t *testing.T) {
	opener := cloud.NewOpener(cloud.Config{Client: kubernetes})
	s := stage(t, opener, infrav1.AzureClusterIdentitySpec{Type: infrav1.WorkloadIdentity, ClientID: "app",
		AllowedNamespaces: &infrav1.AllowedNamespaces{}}, nil)
	const clusters = 20
	for _, tc := range []struct {
		name string
		do   func(context.Context, *infrav1.AzureCluster) error
		want int
	}{{"hold", opener.Hold, clusters}, {"release", opener.Release, 0}} {
		t.Run(tc.name, func(t *testing.T) {
			var all sync.WaitGroup
			for i := range clusters {
				c := s.cluster.DeepCopy()
				c.Name = fmt.Sprint("demo", i)
				all.Go(func() {
					if err := tc.do(t.Context(), c); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if err := kubernetes.Get(t.Context(), client.ObjectKeyFromObject(s.identity), s.identity); err != nil {
				t.Fatal(err)
			}
			if got := len(s.identity.Finalizers); got != tc.want {
				t.Errorf("%d of %d clusters hold the identity", got, clusters)
			}
		})
	}
}
