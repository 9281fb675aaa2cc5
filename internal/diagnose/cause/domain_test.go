package cause

import "testing"

// TestDomain: each failure of a domain join, or of a container's domain identity, has its own cause.
func TestDomain(t *testing.T) {
	const add = "casement-gmsa: Computer 'WIN-1' failed to join domain 'corp.example' from its current " +
		"workgroup 'WORKGROUP' with following error message: "
	const hcs = "failed to create containerd task: failed to create shim task: hcs::CreateComputeSystem c: "
	const account = ": the credential spec's account WebApp1: unknown"
	for _, tc := range []struct {
		step       Step
		text, want string
	}{
		{Guest, add + "The user name or password is incorrect.", "DomainJoinPassword"},
		{Guest, add + "Logon failure: unknown user name or bad password.", "DomainJoinPassword"},
		{Guest, add + "The specified domain either does not exist or could not be contacted.", "DomainNotFound"},
		{Guest, add + "Access is denied.", "DomainJoinDenied"},
		{Guest, "casement-gmsa: cannot read DOMAIN\\USER:PASSWORD from the key vault: the key vault refuses, (403)",
			"DomainCredentialUnread"},
		{Guest, "Add-Computer : The NetBIOS name of the computer is limited to 15 bytes, which is 15 characters " +
			"in this case.", "ComputerNameTooLong"},
		{Container, hcs + "The password for this account has expired. (0x80070532)" + account, "GMSAPasswordExpired"},
		{Container, hcs + "Access is denied. (0x80070005)" + account, "GMSADenied"},
		{Container,
			hcs + "The specified domain either does not exist or could not be contacted. (0x8007054b)" + account,
			"GMSADomainNotFound"},
		{Container, hcs +
			"The trust relationship between this workstation and the primary domain failed. (0x800706fd)" +
			account, "GMSATrustBroken"},
		{Container, hcs + "The specified account does not exist. (0x80070525)" + account, "GMSAUnknown"},
		{Container, hcs + "The user name or password is incorrect. (0x8007052e)" + account, "GMSARefused"},
		{Container, hcs + "Container Credential Guard failed to instantiate the plugin: " +
			"{CCC2A336-D7F3-4818-A213-272B7924213E}. Error: Object was not found in registry: " +
			"unknown", "GMSAPluginMissing"},
		{Container, hcs + "the plug-in {CCC2A336-D7F3-4818-A213-272B7924213E} cannot read the credential of its " +
			"PluginInput: the key vault refuses: 403 Forbidden: unknown", "GMSACredentialUnread"},
		{Admission, "admission webhook \"validate.gmsa-webhook.windows.k8s.io\" denied the request: service " +
			"account \"default\" is not authorized to `use` GMSA cred spec \"webapp1\"", "GMSANotAuthorized"},
		{Admission, `admission webhook "mutate.gmsa-webhook.windows.k8s.io" denied the request: cred spec ` +
			`webapp1 does not exist`, "GMSASpecMissing"},
	} {
		if c, _, _ := Classify(tc.step, "", tc.text); c.Name != tc.want {
			t.Errorf("%q is %s, want %s", tc.text, c.Name, tc.want)
		}
	}
}
