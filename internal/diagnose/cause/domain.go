package cause

// joining are the causes in Windows' messages about a failed join of a domain. Sources: messages of Add-Computer, and
// learn.microsoft.com/windows/win32/debug/system-error-codes.
var joining = []Cause{
	row("DomainCredentialUnread", `casement-gmsa: cannot read`,
		"the machine could not read the credential to join the domain with from the key vault",
		"give the machine's identity the role Key Vault Secrets User on the secret, whose value is DOMAIN\\USER:PASSWORD; "+
			"look at DOMAIN_JOIN_SECRET_URL, the vault's firewall and the way to 169.254.169.254"),
	row("DomainJoinPassword", `failed to join domain.*(user name or password is incorrect|unknown user name or bad password)`,
		"the domain refuses the user name or the password that the machine joins with",
		"put the right DOMAIN\\USER:PASSWORD into the key vault's secret; machines read it when they boot"),
	row("DomainNotFound", `failed to join domain.*does not exist or could not be contacted`,
		"the machine finds no domain controller: its DNS servers do not know the domain, or no network leads to it",
		"set dnsServers of the machine template, or of the virtual network, to the domain's DNS servers; peer the networks"),
	row("DomainJoinDenied", `failed to join domain.*(Access is denied|exceeded the maximum number of computer accounts)`,
		"the user may not join computers to the domain, or no more of them",
		"delegate the right to create computer objects in the organizational unit to the user"),
	row("ComputerNameTooLong", `NetBIOS name of the computer is limited to 15 bytes`,
		"the computer's name is longer than the 15 characters of a NetBIOS name",
		"take -NewName out, or shorten it: casement gives Windows machines names of 15 characters at most"),
}

// identities are the reasons why a container does not get the identity of a gMSA. Sources: messages of hcsshim and of
// Container Credential Guard.
var identities = []Cause{
	row("GMSAPasswordExpired", `(hcs|credential ?spec).*password (for this account )?has expired|0x80070532`,
		"the password of the pod's group managed service account has expired",
		"look at the account with Get-ADServiceAccount -Properties PasswordExpired,PasswordLastSet, and at the "+
			"domain's KDS root key; make the account again"),
	row("GMSADomainNotFound", `(hcs|credential ?spec).*does not exist or could not be contacted|0x8007054b`,
		"the node finds no domain controller for the pod's group managed service account: it is in no domain, "+
			"or its DNS servers do not know it",
		"join the node (flavor windows-gmsa), or give the credential spec a HostAccountConfig; set dnsServers to the domain's"),
	row("GMSADenied", `hcs.*Access is denied.*credential spec`,
		"the node, or the plug-in's user, may not have the password of the pod's group managed service account",
		"add it to PrincipalsAllowedToRetrieveManagedPassword of the account, and restart the node if that is a group"),
	row("GMSATrustBroken", `hcs.*trust relationship|0x800706fd`,
		"the domain does not know the node any more: its computer account is gone, or another machine's",
		"replace the machine; Test-ComputerSecureChannel on the node shows it"),
	row("GMSAUnknown", `hcs.*specified account does not exist`, "the domain has no such group managed service account",
		"correct MachineAccountName and the domain in the GMSACredentialSpec, or make the account"),
	row("GMSAPluginMissing", `failed to instantiate the plugin`,
		"the node has no plug-in of Container Credential Guard with the ID that the credential spec names",
		"install it in the node's image and register it below "+
			"HKLM\\SYSTEM\\CurrentControlSet\\Control\\CCG\\COMClasses, or correct PluginGUID"),
	row("GMSACredentialUnread", `plug-in \{.*\}(:| cannot)`,
		"the plug-in of Container Credential Guard cannot read the user that PluginInput names",
		"give the identity of ObjectId to the machines and the role Key Vault Secrets User on the secret; its "+
			"value is DOMAIN\\USER:PASSWORD"),
}

// specs are the reasons why admission refuses a pod with a credential spec. Source: kubernetes-sigs/windows-gmsa
// admission-webhook/webhook.go.
var specs = []Cause{
	row("GMSANotAuthorized", "not authorized to .use. GMSA cred spec",
		"the pod's service account may not use its credential spec",
		"bind a Role with the verb use on it to the service account: casement generate gmsa ACCOUNT --service-account NAMESPACE/NAME"),
	row("GMSASpecMissing", `cred spec \S+ does not exist`, "there is no GMSACredentialSpec of the name that the pod has",
		"create it, or correct gmsaCredentialSpecName: kubectl get gmsacredentialspecs"),
}
