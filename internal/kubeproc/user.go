package kubeproc

import (
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Administrators is the group that has all permissions.
const Administrators = "system:masters"

// ConfigFor returns the configuration of a client that is a user with only the permissions bound to this name and to the groups.
func (p *Plane) ConfigFor(user string, groups ...string) (*rest.Config, error) {
	cert, key, err := p.keys.client(user, groups...)
	if err != nil {
		return nil, fmt.Errorf("make a client certificate for %s: %w", user, err)
	}
	c := p.Config()
	c.CertData, c.KeyData = cert, key
	return c, nil
}

// Everyone is the value of Config.AuditOf for the requests of all users.
const Everyone = "*"

// AuditLog returns the path of the file with the audit.k8s.io/v1 Events, one per line, that Config.AuditOf requests.
func (p *Plane) AuditLog() string { return p.path("log", "audit.log") }

// writeAuditPolicy writes the API server's audit policy.
func (p *Plane) writeAuditPolicy() error {
	if p.cfg.AuditOf == "" {
		return nil
	}
	data, err := AuditPolicy(p.cfg.AuditOf)
	if err != nil {
		return err
	}
	return os.WriteFile(p.path("audit.yaml"), data, 0o600)
}

// AuditPolicy returns the policy of an API server that records the requests of a user, or of Everyone, without bodies
// and responses.
func AuditPolicy(user string) ([]byte, error) {
	rule := auditv1.PolicyRule{Level: auditv1.LevelMetadata}
	if user != Everyone {
		rule.Users = []string{user}
	}
	return yaml.Marshal(auditv1.Policy{
		TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
		Rules:      []auditv1.PolicyRule{rule, {Level: auditv1.LevelNone}},
	})
}
