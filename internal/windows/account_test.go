package windows

import "testing"

func TestHasAccount(t *testing.T) {
	const nano, core, own = "mcr.microsoft.com/windows/nanoserver:ltsc2022", "mcr.microsoft.com/windows/servercore/iis:latest",
		"contoso.azurecr.io/app:1"
	for _, tc := range []struct {
		image, account string
		want           bool
	}{
		{nano, "ContainerUser", true},
		{nano, "containeradministrator", true},
		{nano, `User Manager\ContainerUser`, true},
		{nano, `NT AUTHORITY\NETWORK SERVICE`, true},
		{nano, `NT AUTHORITY\LocalService`, true},
		{nano, "FooLish", false},
		{nano, "Administrator", false},
		{core, "Administrator", true},
		{core, `CONTOSO\app`, false},
		{core, `NT AUTHORITY\nosuch`, false},
		{core, "app", false},
		{"MCR.microsoft.com/windows/nanoserver:ltsc2022", "app", false},
		{own, "app", true},
	} {
		if got := HasAccount(tc.image, tc.account); got != tc.want {
			t.Errorf("%s has the account %s: %v", tc.image, tc.account, got)
		}
	}
	if SandboxHasAccount("app") || !SandboxHasAccount("ContainerUser") {
		t.Error("a sandbox has other accounts than the pause image")
	}
}

func TestHostHasAccount(t *testing.T) {
	for account, want := range map[string]bool{
		`NT AUTHORITY\SYSTEM`: true, `NT AUTHORITY\Local service`: true, `NT AUTHORITY\NetworkService`: true,
		"Administrators": true, "event log readers": true, `BUILTIN\Users`: true,
		"capi": false, "ContainerUser": false, `CONTOSO\ops`: false, `NT AUTHORITY\nosuch`: false, "SYSTEM": false,
	} {
		if got := HostHasAccount(account); got != want {
			t.Errorf("a node has the account %s: %v", account, got)
		}
	}
}

func TestImageUser(t *testing.T) {
	for image, want := range map[string]string{
		"mcr.microsoft.com/windows/nanoserver:ltsc2022": "ContainerUser",
		"golang:1.26-nanoserver-ltsc2022":               "ContainerUser",
		"mcr.microsoft.com/windows/servercore:ltsc2022": "ContainerAdministrator",
		"contoso.azurecr.io/app:1":                      "ContainerAdministrator",
	} {
		if got := ImageUser(image); got != want {
			t.Errorf("%s runs as %s", image, got)
		}
	}
}
