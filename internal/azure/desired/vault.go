package desired

import (
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/google/uuid"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// secretsUser is the ID of Azure's built-in role Key Vault Secrets User, which can only
// read secrets. Source: https://learn.microsoft.com/azure/key-vault/general/rbac-guide.
const secretsUser = "4633458b-17de-408a-b874-0445c86b69e6"

// softDeleteDays is the number of days for which Azure keeps deleted secrets, the minimum that it allows.
const softDeleteDays = 7

// tracked is the model of a resource type with few fields, to avoid the import of the SDK's module.
type tracked struct {
	Location   string             `json:"location"`
	Tags       map[string]*string `json:"tags,omitempty"`
	Properties any                `json:"properties,omitempty"`
}

// vaultProperties are the properties of a key vault.
type vaultProperties struct {
	TenantID                  string   `json:"tenantId"`
	SKU                       vaultSKU `json:"sku"`
	EnableRBACAuthorization   bool     `json:"enableRbacAuthorization"`
	EnableSoftDelete          bool     `json:"enableSoftDelete"`
	SoftDeleteRetentionInDays int      `json:"softDeleteRetentionInDays"`
}

type vaultSKU struct {
	Family string `json:"family"`
	Name   string `json:"name"`
}

// Vault is a cluster's key vault for bootstrap secrets.
type Vault struct {
	// Name is unique in all of Azure; "" means that there is no vault.
	Name string
	// TenantID is the tenant of the identities that can get access.
	TenantID string
}

// VaultID returns the ID of a key vault in the cluster's resource group.
func VaultID(c *infrav1.AzureCluster, name string) string {
	return ClusterGroup(c).ID() + "/providers/Microsoft.KeyVault/vaults/" + name
}

// vault adds the key vault. Access is given by role assignments, not by access policies,
// because a role can be assigned for one secret.
func (b *clusterBuilder) vault() {
	if b.Vault.Name == "" {
		return
	}
	b.add(Resource{
		ID: VaultID(b.Cluster, b.Vault.Name), APIVersion: VaultAPIVersion,
		Body: tracked{
			Location: b.spec.Location, Tags: b.tags(b.Vault.Name, roleCommon),
			Properties: vaultProperties{
				TenantID: b.Vault.TenantID, SKU: vaultSKU{"A", "standard"},
				EnableRBACAuthorization: true, EnableSoftDelete: true, SoftDeleteRetentionInDays: softDeleteDays,
			},
		},
		Policy: CreateOnly, Condition: infrav1.VaultReadyCondition, Field: "metadata.annotations",
		Needs: []string{b.group.ID()},
	})
}

// BootstrapSecret is a secret with bootstrap data, and the identity that can read it.
type BootstrapSecret struct {
	// Vault and Secret are the names of the vault and the secret.
	Vault, Secret string
	// PrincipalID is the principal of the reader; "" until Azure returns it.
	PrincipalID string
}

// ReaderID returns the ID of the identity that reads the secret; its name is the secret's name.
func (s BootstrapSecret) ReaderID(c *infrav1.AzureCluster) string {
	return ClusterGroup(c).ID() + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/" + s.Secret
}

// Reader returns the identity that reads the secret; object is the ObjectMark of the secret's machine or pool.
func (s BootstrapSecret) Reader(c *infrav1.AzureCluster, clusterName, object string, additional infrav1.Tags) Resource {
	t := taggerOf(c, clusterName, object)
	return Resource{
		ID: s.ReaderID(c), APIVersion: IdentityAPIVersion,
		Body:   tracked{Location: c.Spec.Location, Tags: t.tags(s.Secret, roleCommon, additional)},
		Policy: CreateOnly, Condition: infrav1.VMIdentitiesReadyCondition, Field: "metadata.annotations",
	}
}

// Right returns the role assignment that lets the reader read only this secret.
func (s BootstrapSecret) Right(c *infrav1.AzureCluster) Resource {
	scope := VaultID(c, s.Vault) + "/secrets/" + s.Secret
	return Resource{
		// The same names give the same assignment ID, so that it is found again.
		ID:         scope + "/providers/Microsoft.Authorization/roleAssignments/" + uuid.NewSHA1(uuid.NameSpaceURL, []byte(scope)).String(),
		APIVersion: AuthorizationAPIVersion,
		Body: armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{
			PrincipalID: &s.PrincipalID,
			RoleDefinitionID: new("/subscriptions/" + c.Spec.SubscriptionID +
				"/providers/Microsoft.Authorization/roleDefinitions/" + secretsUser),
			PrincipalType: new(armauthorization.PrincipalTypeServicePrincipal),
		}},
		Policy: CreateOnly, Condition: infrav1.RoleAssignmentReadyCondition, Field: "metadata.annotations",
	}
}
