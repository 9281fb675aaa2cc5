package supervisor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/kubeproc"
)

// The service account whose token casement's manager presents as a workload identity, like the projected volume of its
// pod in production.
const (
	managerNamespace = "casement-system"
	managerAccount   = "casement-manager"
	// exchangeAudience is the audience that Microsoft Entra requires of tokens for an exchange.
	exchangeAudience = "api://AzureADTokenExchange"
	// tokenLife is the lifetime of a token; it is renewed after half of it.
	tokenLife = time.Hour
)

// tokenFile returns the file of the manager's federated token, with mode 0600.
func (s *supervisor) tokenFile() string { return s.opts.Dir.Path("management", "federated-token") }

// federate lets the application of the local Azure log in with tokens of the management API server, and keeps a token
// for casement's manager current until ctx ends.
func (s *supervisor) federate(ctx context.Context) error {
	keys, err := os.ReadFile(s.opts.Dir.Path("management", "pki", "sa.pub"))
	if err != nil {
		return fmt.Errorf("read the keys of the management API server's tokens: %w", err)
	}
	app := s.azure.server.Client()
	app.Federated = append(app.Federated, azuresim.Federated{
		Issuer: kubeproc.Issuer, Subject: "system:serviceaccount:" + managerNamespace + ":" + managerAccount,
		Audience: exchangeAudience, Keys: string(keys),
	})
	s.azure.server.Admit(app)
	client, err := kubernetes.NewForConfig(s.management.plane.Config())
	if err != nil {
		return err
	}
	cl, err := s.planeClient()
	if err != nil {
		return err
	}
	if err := applyObject(ctx, cl, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: managerNamespace}}); err != nil {
		return fmt.Errorf("make the manager's namespace: %w", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: managerAccount}}
	if err := applyObject(ctx, cl, account); err != nil {
		return fmt.Errorf("make the manager's service account: %w", err)
	}
	if err := s.renewToken(ctx, client); err != nil {
		return err
	}
	go func() {
		tick := time.NewTicker(tokenLife / 2)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := s.renewToken(ctx, client); err != nil && ctx.Err() == nil {
				s.log.Error(err, "The manager's federated token was not renewed")
			}
		}
	}()
	return nil
}

// renewToken requests a token and replaces the previous one.
func (s *supervisor) renewToken(ctx context.Context, client kubernetes.Interface) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{exchangeAudience}, ExpirationSeconds: new(int64(tokenLife.Seconds()))}}
	answer, err := client.CoreV1().ServiceAccounts(managerNamespace).CreateToken(ctx, managerAccount, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask for the manager's federated token: %w", err)
	}
	next := filepath.Join(filepath.Dir(s.tokenFile()), ".federated-token")
	if err := os.WriteFile(next, []byte(answer.Status.Token), 0o600); err != nil {
		return fmt.Errorf("keep the manager's federated token: %w", err)
	}
	return os.Rename(next, s.tokenFile())
}
