package plane

import "encoding/base64"

// The identity that a plane creates in the management cluster, its secret and the namespace of both, for use in
// templates.
const (
	IdentityName      = "cluster-identity"
	IdentitySecret    = "cluster-identity-secret"
	IdentityNamespace = "default"
)

// Location is the region for templates that are filled with a plane's values.
const Location = "westeurope"

// TemplateVariables returns the values of a running plane for cluster templates.
func TemplateVariables(s Status) (map[string]string, error) {
	secret, err := s.Azure.ClientSecret()
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"AZURE_SUBSCRIPTION_ID": s.Azure.SubscriptionID, "AZURE_TENANT_ID": s.Azure.TenantID,
		"AZURE_CLIENT_ID": s.Azure.ClientID, "AZURE_CLIENT_SECRET": secret,
		"AZURE_CLIENT_ID_USER_ASSIGNED_IDENTITY": s.Azure.ClientID, "APISERVER_LB_DNS_SUFFIX": "casement",
		"AZURE_LOCATION": Location, "CLUSTER_IDENTITY_NAME": IdentityName,
		"AZURE_CLUSTER_IDENTITY_SECRET_NAME": IdentitySecret, "AZURE_CLUSTER_IDENTITY_SECRET_NAMESPACE": IdentityNamespace,
		"AZURE_CONTROL_PLANE_MACHINE_TYPE": "Standard_D2s_v3", "AZURE_NODE_MACHINE_TYPE": "Standard_D4s_v3",
		"AZURE_SSH_PUBLIC_KEY":     s.Azure.SSHPublicKey,
		"AZURE_SSH_PUBLIC_KEY_B64": base64.StdEncoding.EncodeToString([]byte(s.Azure.SSHPublicKey)),
	}, nil
}
