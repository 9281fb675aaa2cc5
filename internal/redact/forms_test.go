package redact

import (
	"strings"
	"testing"
)

// forms are texts of programs' commands, logs and files with a secret at %s.
var forms = []string{
	// Accounts of Linux and Windows.
	"chpasswd <<< 'capi:%s'", "chpasswd:\n  list: |\n    capi:%s\n    root:%s\n", "printf 'root:%s' | chpasswd -e",
	"echo %s | passwd --stdin capi", `echo -e '%s\n%s' | passwd capi`, "usermod -p '%s' capi",
	"wmic useraccount where name='a' call setpassword %s", `nssm set svc ObjectName .\u %s`, "ksetup /SetComputerPassword %s",
	"djoin /provision /passwd %s", `net user svc "%s" /domain`, `schtasks.exe /Create /TN t /RU CONTOSO\svc /RP "%s" /SC ONSTART`,
	"netdom join x /domain:c /userd:u /passwordd:%s", "Register-ScheduledTask -TaskName x -User u -Password %s",
	`sc create svc binPath= c:\a.exe obj= .\u password= "%s"`, "manage-bde -unlock c: -RecoveryPassword %s",
	// Keys and archives.
	`certutil -p %s -importpfx c:\x.pfx`, "signtool sign /f x.pfx /p %s a.exe", "zip -P %s a.zip b", "7z x a.7z -p%s", "unrar x -p%s a.rar",
	"ssh-keygen -N '%s' -f k", "ssh-keygen -p -P %s", "htpasswd -b f u %s", "wpa_passphrase net %s", "gpg --passphrase %s -d x",
	"ipmitool -P %s power on", "snmpget -v3 -A %s -X y", "rclone config create r sftp pass %s", "sqlplus system/%s@db",
	// Kubernetes, registries, agents.
	"kubectl create secret generic x --from-literal=a=%s", "kubectl --client-key-data %s", "regctl registry login r.io -u u -p %s",
	"skopeo copy --src-creds u:%s docker://x dir:y", "onboard_agent.sh -w id -s %s", "MicrosoftMonitoringAgent OPINSIGHTS_WORKSPACE_KEY=%s",
	"vault write auth/approle/login role_id=r secret_id=%s", "kubeadm init phase upload-certs --certificate-key %s",
	// URLs, headers and connection strings.
	"git clone https://%s@dev.azure.com/x/_git/y", "HTTP_PROXY=http://svc:%s@proxy:8080", "mongodb+srv://app:%s@c0.mongodb.net/x",
	"Endpoint=https://x.azconfig.io;Id=1;Secret=%s", "DefaultEndpointsProtocol=https;AccountName=n;SharedAccessSignature=sv=1&sig=%s",
	"Ocp-Apim-Subscription-Key: %s", "x-goog-api-key: %s", "Private-Token: %s", "Cookie: .AspNetCore.Session=%s",
	`{"auths":{"r.io":{"username":"u","password":"%s"}}}`, `{"identitytoken":"%s"}`,
	// Fields.
	"ansible_become_pass: %s", `<machineKey validationKey="%s" decryptionKey="%s"/>`, "wifi psk=%s", "pre-shared key: %s",
	"shared_secret: %s", "webhook_secret=%s", `"workspaceKey":"%s"`, "WSKEY=%s", "SPLUNK_HEC_TOKEN: %s",
	// Sentences.
	"totp seed %s", "seed phrase: %s", "Password for 'u': %s", "with secret %s", "using key %s to sign", "token is %s", "token '%s' rejected",
	"API key %s invalid", "client secret '%s' expired",
}

func TestForms(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			for _, secret := range []string{"c4n4ryC4n4ryX9", "Xk7Qm2Vb9Lw4Rt8Z"} {
				if got := Text(strings.ReplaceAll(form, "%s", secret)); strings.Contains(got, secret) || !strings.Contains(got, Mark) {
					t.Errorf("becomes %q", got)
				}
			}
		})
	}
}

// TestFormsOfNoSecret: texts with the same words but without a secret are kept.
func TestFormsOfNoSecret(t *testing.T) {
	for _, text := range []string{
		`secret "w1-md-0-kkfnv-j45nn" not found`, "the token is not valid for audience api", "key control-plane.json of secret w1-azure-json",
		"create secret demo-kubeconfig", "https://user@git.example/x.git", "zip -r a.zip b", "7z x a.7z -oc:\\k", "ssh-keygen -A",
		"signtool verify /pa a.exe", "certutil -hashfile x SHA256", "echo done | tee passwd.log", "tlsSecret: shop-tls",
		"  subnet: 10.0.0.0/16\n  cidr:10.0.0.0/16", "the seed node is up", "sqlplus -v", "snmpd: started",
		"user root created", "the password is required", "echo done | tee log", "echo x | sudo -u svc tool",
		"echo a | summary", "login as: svc", "netsh advfirewall show allprofiles", "send the report", "password set to expire never",
		"Pod env is set", "the node user svc joined the domain",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
