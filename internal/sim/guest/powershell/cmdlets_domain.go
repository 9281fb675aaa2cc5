package powershell

import (
	"cmp"
	"errors"
	"strings"

	"casement.dev/casement/internal/sim/domain"
)

// workgroup is the workgroup of a machine outside of domains.
const workgroup = "WORKGROUP"

var domainCmdlets = []cmdlet{
	{name: "Add-Computer", parameters: "DomainName|Domain:0 Credential OUPath~ Server~ Force? Restart? " +
		"NewName% Options~ PassThru? LocalCredential~ UnjoinDomainCredential~", run: addComputer},
	{name: "Test-ComputerSecureChannel", parameters: "Repair? Credential Server~", run: testChannel},
	{name: "Install-ADServiceAccount", parameters: "Identity:0 Force?~", run: installAccount},
	{name: "Test-ADServiceAccount", parameters: "Identity:0", run: testAccount},
}

// netBIOSName is the maximum length of a computer's NetBIOS name.
const netBIOSName = 15

// joinError returns the failure of a domain join, with the message of the Windows system error.
func (c *call) joinError(err error) error {
	var e *domain.Error
	if !errors.As(err, &e) {
		return diskError(err, "the registry")
	}
	return broken("System.InvalidOperationException", "FailToJoinDomainFromWorkgroup",
		"Computer '%s' failed to join domain '%s' from its current workgroup '%s' with following error message: %s",
		strings.ToUpper(c.m.ComputerName), c.textOf("domainname"), workgroup, e.Message)
}

// addComputer joins the machine to a simulated domain.
func addComputer(c *call) error {
	if err := c.need("domainname"); err != nil {
		return err
	}
	if now := c.m.JoinedDomain(); now != "" {
		return c.fault(broken("System.InvalidOperationException", "AddComputerToSameDomain",
			"Cannot add computer '%s' to domain '%s' because it is already in that domain.", strings.ToUpper(c.m.ComputerName), now))
	}
	if name := c.textOf("newname"); len(name) > netBIOSName && !c.is("force") {
		// Windows asks for confirmation on the console; a script has no answer.
		return c.fault(broken("System.InvalidOperationException", "FailToRenameComputer",
			"The NetBIOS name of the computer is limited to 15 bytes, which is 15 characters in this case. The "+
				"NetBIOS name will be shortened to "+
				"\"%s\", which may cause conflicts under NetBIOS name resolution. A script cannot answer whether to continue.",
			strings.ToUpper(name[:netBIOSName])))
	}
	by, err := c.credential()
	if err != nil {
		return err
	}
	if name := c.textOf("newname"); name != "" {
		if err := c.m.SetHostname(name[:min(len(name), netBIOSName)]); err != nil {
			return diskError(err, "the computer's name")
		}
	}
	if err := c.m.Join(c.textOf("domainname"), by); err != nil {
		return c.fault(c.joinError(err))
	}
	if c.is("passthru") {
		if err := c.emit(tabled("Microsoft.PowerShell.Commands.ComputerChangeInfo", 2, "HasSucceeded", true, "ComputerName",
			strings.ToUpper(c.m.ComputerName))); err != nil {
			return err
		}
	}
	return c.finishChange()
}

// credential returns the value of -Credential. Without it Windows asks on the console, so the call is refused.
func (c *call) credential() (domain.Credential, error) {
	if err := c.need("credential"); err != nil {
		return domain.Credential{}, err
	}
	o, ok := c.given["credential"].(*object)
	if !ok || o.kind != kindCredential {
		return domain.Credential{}, lacking("-Credential that is no PSCredential")
	}
	hidden, _ := o.read("Password").(secret)
	return domain.Credential{User: text(o.read("UserName")), Password: hidden.text}, nil
}

// testChannel emits whether the domain trusts the machine. -Repair joins the domain again, and emits whether that succeeded.
func testChannel(c *call) error {
	if c.m.Domain() == "" {
		return c.fault(broken("System.InvalidOperationException", "NotInDomain",
			"Cannot verify the secure channel for the local computer. Operation failed with the following "+
				"exception: %s", domain.ErrNoSuchDomain))
	}
	if c.is("repair") {
		by, err := c.credential()
		if err != nil {
			return err
		}
		return c.emit(c.m.Join(c.m.Domain(), by) == nil)
	}
	return c.emit(c.m.Trusted() == nil)
}

// account requests the password of a gMSA as the machine, and returns an error if the machine cannot get it.
func (c *call) account() error {
	return c.m.ManagedPassword(c.m.Domain(), strings.TrimSuffix(c.textOf("identity"), "$"), nil)
}

// installAccount fails as the real cmdlet does if the machine cannot get the account's password.
func installAccount(c *call) error {
	if err := c.needInput("identity"); err != nil {
		return err
	}
	err := c.account()
	if err == nil {
		return nil
	}
	return c.fault(broken("Microsoft.ActiveDirectory.Management.ADException",
		"InstallADServiceAccount:PerformOperation:InstallServiceAcccountFailure,"+
			"Microsoft.ActiveDirectory.Management.Commands.InstallADServiceAccount",
		"Cannot install service account. Error Message: '%v'", err))
}

// testAccount emits whether the machine can use a gMSA, and writes the reason to a warning if not.
func testAccount(c *call) error {
	if err := c.needInput("identity"); err != nil {
		return err
	}
	err := c.account()
	if err != nil {
		if werr := c.warn("Test failed for Managed Service Account " + cmp.Or(c.textOf("identity"), "?") + ": " +
			err.Error()); werr != nil {
			return werr
		}
	}
	return c.emit(err == nil)
}
