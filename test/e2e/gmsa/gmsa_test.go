package gmsa

import (
	"flag"
	"os"
	"strings"
	"testing"

	"casement.dev/casement/internal/gmsa"
	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "do it, which takes a minute; make e2e-gmsa does")

const (
	domainName = "corp.example"
	dnsServer  = "10.1.0.4"
	password   = "c4n4ry-J0in-passw0rd"
	cluster    = "demo"
)

// The vault and secret of the credential, and the identity that reads it.
const (
	group    = "/resourceGroups/shared"
	identity = group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/gmsa"
	vault    = group + "/providers/Microsoft.KeyVault/vaults/gmsavault"
	secret   = vault + "/secrets/join"
	// secretsUser is the ID of the role Key Vault Secrets User.
	secretsUser = "4633458b-17de-408a-b874-0445c86b69e6"
)

// shared creates the identity and the vault with the credential, as an operator would. It returns
// the variables of the flavor and the identity's principal ID.
func shared(t *testing.T, p *plane.Plane) (variables []string, principal string) {
	t.Helper()
	type object = map[string]any
	sub := "/subscriptions/" + p.Subscription()
	p.Put(group, "2021-04-01", object{"location": "westeurope"})
	p.Put(identity, "2023-01-31", object{"location": "westeurope"})
	var made struct {
		Properties struct{ PrincipalID, ClientID, TenantID string }
	}
	p.ARM(identity, "2023-01-31", &made)
	p.Put(vault, "2023-07-01", object{"location": "westeurope",
		"properties": object{"tenantId": made.Properties.TenantID, "enableRbacAuthorization": true,
			"sku": object{"family": "A", "name": "standard"}}})
	p.Put(secret, "2023-07-01", object{"properties": object{"value": `CORP\joiner:` + password}})
	p.Put(secret+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000a",
		"2022-04-01", object{"properties": object{
			"principalId":      made.Properties.PrincipalID,
			"roleDefinitionId": sub + "/providers/Microsoft.Authorization/roleDefinitions/" + secretsUser}})
	var v struct {
		Properties struct{ VaultURI string }
	}
	p.ARM(vault, "2023-07-01", &v)
	return []string{
		"DOMAIN_NAME=" + domainName, "DOMAIN_DNS_SERVERS=" + dnsServer,
		"DOMAIN_JOIN_SECRET_URL=" + strings.TrimSuffix(v.Properties.VaultURI, "/") + "/secrets/join",
		"GMSA_IDENTITY_ID=" + sub + identity, "WINDOWS_WORKER_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1", "CONTROL_PLANE_MACHINE_COUNT=1",
	}, made.Properties.PrincipalID
}

// TestGMSA runs pods with a group managed service account on Windows machines that are in a domain.
func TestGMSA(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	p := plane.New(t)
	p.Run(nil, "up")
	p.Run([]byte(password+"\n"), "azure", "domain", "add", domainName, "--dns", dnsServer, "--join-user", "joiner",
		"--join-password-file", "-", "--gmsa", "WebApp1")
	variables, principal := shared(t, p)
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	p.Create(cluster, "windows-gmsa")
	p.Run(nil, "wait", cluster, "--timeout", "5m")
	if out := p.Run(nil, "azure", "domain", "list", "-o", "json"); !strings.Contains(out, `"owner"`) || strings.Contains(out, password) {
		t.Errorf("no machine joined, or the list shows the password:\n%s", out)
	}
	s := &scene{Plane: p, t: t, workload: p.Workload(cluster)}
	kubeconfig := p.Kubeconfig(cluster)
	apply := func(manifest string) {
		p.Run([]byte(manifest), "kubectl", "--kubeconfig", kubeconfig, "apply", "-f", "-")
	}

	t.Log("a service account that may not use the credential spec")
	apply(p.Run(nil, "generate", "gmsa"))
	s.workload("wait", "crd/gmsacredentialspecs.windows.k8s.io", "--for=condition=Established", "--timeout=1m")
	apply(p.Run(nil, "generate", "gmsa", "WebApp1", "--domain", domainName))
	s.workload("rollout", "status", "-n", "gmsa-webhook", "deployment/gmsa-webhook", "--timeout=2m")
	if _, err := p.Try([]byte(iis), "kubectl", "--kubeconfig", kubeconfig, "apply", "-f", "-"); err == nil ||
		!strings.Contains(err.Error(), "not authorized to `use`") {
		t.Errorf("admission: %v", err)
	}

	t.Log("an IIS pod with the identity")
	apply(p.Run(nil, "generate", "gmsa", "WebApp1", "--domain", domainName, "--service-account", "default/default"))
	s.again(kubeconfig)
	s.ready(kubeconfig)
	if spec := s.workload("get", "pod", "iis", "-o", "jsonpath={.spec.securityContext.windowsOptions."+
		"gmsaCredentialSpec}"); !strings.Contains(spec, `"MachineAccountName":"WebApp1"`) {
		t.Errorf("admission wrote no contents: %q", spec)
	}
	address := s.workload("get", "pod", "iis", "-o", "jsonpath={.status.podIP}")
	if out := p.Run(nil, "ssh", s.machines()[0], "--", `curl.exe -s -H "Authorization: Negotiate YIIF" http://`+
		address+`/`); !strings.Contains(out, `simulated Kerberos: the container answers as CORP\WebApp1$`) {
		t.Errorf("the pod answers:\n%s", out)
	}

	t.Log("an expired password, then a node that may not have it")
	p.Run(nil, "azure", "domain", "gmsa", domainName, "WebApp1", "--expired")
	s.again(kubeconfig)
	s.why("GMSAPasswordExpired", "pod/iis", "--cluster", cluster)
	p.Run(nil, "azure", "domain", "gmsa", domainName, "WebApp1", "--allow", "another")
	s.again(kubeconfig)
	s.why("GMSADenied", "pod/iis", "--cluster", cluster)
	s.workload("delete", "pod", "iis", "--now")

	t.Log("a plug-in that reads a user from the key vault")
	p.Run(nil, "azure", "domain", "gmsa", domainName, "WebApp1", "--allow", "joiner")
	apply(p.Run(nil, "generate", "gmsa", "WebApp1", "--domain", domainName, "--secret", os.Getenv("DOMAIN_JOIN_SECRET_URL"),
		"--identity", principal, "--service-account", "default/default"))
	s.again(kubeconfig)
	s.why("GMSAPluginMissing", "pod/iis", "--cluster", cluster)
	p.Run(nil, "ssh", s.machines()[0], "--", `reg add "HKLM\SYSTEM\CurrentControlSet\Control\CCG\COMClasses\`+gmsa.KeyVaultPlugin+`" /f`)
	s.again(kubeconfig)
	s.ready(kubeconfig)
	s.noPassword()
	p.Run(nil, "azure", "domain", "gmsa", domainName, "WebApp1")
	apply(p.Run(nil, "generate", "gmsa", "WebApp1", "--domain", domainName, "--service-account", "default/default"))
	s.workload("delete", "pod", "iis", "--now")

	t.Log("a wrong join password")
	p.Put(secret, "2023-07-01", map[string]any{"properties": map[string]any{"value": `CORP\joiner:not-the-password`}})
	s.fails("DomainJoinPassword")
	p.Put(secret, "2023-07-01", map[string]any{"properties": map[string]any{"value": `CORP\joiner:` + password}})

	t.Log("DNS servers that do not know the domain")
	p.Run(nil, "azure", "domain", "remove", domainName)
	p.Run([]byte(password), "azure", "domain", "add", domainName, "--dns", "10.9.9.9", "--join-user", "joiner",
		"--join-password-file", "-", "--gmsa", "WebApp1")
	s.fails("DomainNotFound")
	s.again(kubeconfig)
	s.why("GMSADomainNotFound", "pod/iis", "--cluster", cluster)

	t.Log("a computer name of more than 15 characters")
	s.manage("patch", "kubeadmconfigtemplate", set, "--type=json", "-p",
		`[{"op": "replace", "path": "/spec/template/spec/preKubeadmCommands", "value": [
		"powershell -Command \"Add-Computer -DomainName corp.example -NewName windows-node-of-demo\"", "if errorlevel 1 exit /b 1"]}]`)
	s.fails("ComputerNameTooLong")
	s.noPassword()
}
