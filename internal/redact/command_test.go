package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// commandsWithSecrets have %s at the place of the secret.
var commandsWithSecrets = map[string]string{
	"docker login":               "docker login -u someone -p %s registry.example",
	"docker login, glued":        "docker login -u someone -p%s registry.example",
	"docker login in JSON":       `{"cmd":"docker login r.example -u u -p %s"}`,
	"helm registry login":        "helm registry login r.example -u someone -p %s",
	"nerdctl login":              "+ nerdctl.exe login --username u -p '%s' r.example",
	"az login":                   "az login --service-principal -u 0000 -p %s --tenant t",
	"az login, far":              "az login --service-principal -u 0000 --tenant t -p %s",
	"az acr login":               "az acr login -n r -u u -p %s",
	"az vm user update":          "az vm user update -g g -n vm -u capi -p %s",
	"az vm create":               "az vm create --admin-password %s --name x",
	"az keyvault":                "az keyvault secret set --vault-name v -n s --value %s",
	"az storage":                 "az storage blob list --account-key=%s",
	"az run-command":             "az vm run-command create --protected-parameters %s",
	"kubeadm join":               "kubeadm join 10.0.0.4:6443 --token %s --discovery-token-ca-cert-hash sha256:1",
	"kubeadm join, =":            "kubeadm join 10.0.0.4:6443 --token=%s --v=5",
	"kubeadm, list":              `args: ["join", "--token", "%s"]`,
	"kubectl":                    "kubectl --token=%s get nodes",
	"crictl creds":               "crictl pull --creds user:%s r.example/x",
	"crictl auth":                "crictl pull --auth %s r.example/x",
	"ctr":                        "ctr -n k8s.io images pull --user u:%s r.example/x:1",
	"curl":                       "curl -fsSL -u capi:%s https://x.example/",
	"sshpass":                    "sshpass -p %s ssh capi@10.0.0.4",
	"sshpass, glued":             "sshpass -p%s ssh capi@10.0.0.4",
	"useradd":                    "useradd -m -p %s capi",
	"chpasswd":                   `echo "capi:%s" | sudo chpasswd`,
	"psexec":                     `psexec.exe \\node -u Administrator -p %s cmd`,
	"net user":                   "net user Administrator %s",
	"net user, created":          "creating: net user capi %s /add",
	"net user, prompt":           `C:\>net.exe user "the user" %s /active:yes`,
	"net user in cmd":            `cmd.exe /c net user capi %s`,
	"net use":                    `net use Z: \\files.example\share %s /user:capi`,
	"net use, user first":        `net use \\files.example\share /user:capi %s`,
	"schtasks":                   `schtasks /create /tn x /ru capi /rp %s /tr "c:\k\start.cmd"`,
	"freerdp":                    "xfreerdp /v:127.0.0.1:5555 /u:capi /p:%s",
	"cmdkey":                     "cmdkey /generic:x /user:capi /pass:%s",
	"sc":                         `sc.exe config kubelet obj= .\capi password= %s`,
	"setx":                       "setx /M AZURE_CLIENT_SECRET %s",
	"PowerShell parameter":       "New-LocalUser -Name capi -Password %s",
	"PowerShell parameter, name": `Add-Computer -AdminPassword '%s' -Verbose`,
	"secure string":              "$p = ConvertTo-SecureString '%s' -AsPlainText -Force",
	"secure string, named":       `ConvertTo-SecureString -AsPlainText -Force -String "%s"`,
	"secure string, in YAML":     `- 'powershell ConvertTo-SecureString ''%s'' -AsPlainText'`,
	"quoted in YAML":             `- 'docker login -u u -p ''%s'' r.example'`,
	"secure string, piped":       `"%s" | ConvertTo-SecureString -AsPlainText -Force`,
	"secure string, parameter":   "New-LocalUser x -Password (ConvertTo-SecureString '%s' -AsPlainText -Force)",
	"credential":                 `[System.Net.NetworkCredential]::new('capi', '%s')`,
	"credential object":          `New-Object PSCredential("capi", "%s")`,
	"environment, .NET":          `[Environment]::SetEnvironmentVariable("AZURE_CLIENT_SECRET", "%s", "Machine")`,
	"openssl":                    "openssl pkcs12 -in x -passin pass:%s",
	"java":                       "keytool -storepass %s -list",
	"cut quotes":                 `docker login -u u -p "%s with a blank`,
}

// textsWithSecrets have %s at the place of the secret, and contain no command.
var textsWithSecrets = map[string]string{
	"basic":               "Authorization: Basic %s",
	"shared key":          "authorization: SharedKey account:%s",
	"negotiate":           `"Authorization":"Negotiate %s"`,
	"no scheme":           "Authorization: %s",
	"connection string":   "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=%s;EndpointSuffix=core.windows.net",
	"service bus":         "Endpoint=sb://x.example/;SharedAccessKeyName=Root;SharedAccessKey=%s",
	"SQL":                 "Server=s;Uid=capi;Pwd=%s;",
	"sas":                 "https://x.blob.core.windows.net/c/b?sv=1&sig=%s",
	"sas, encoded":        "url=https%%3A%%2F%%2Fx%%3Fsv%%3D1%%26sig%%3D%s",
	"sas alone":           "SharedAccessSignature=sig=%s",
	"user information":    "fetch https://someone:%s@git.example/x.git",
	"token of git":        "fetch https://%s@git.example/x.git",
	"environment":         "K3S_TOKEN=%s",
	"JSON":                `{"token": "%s"}`,
	"YAML":                "users:\n- user:\n    token: %s\n",
	"answer file":         "<AdministratorPassword><Value>%s</Value></AdministratorPassword>",
	"answer file, lines":  "<Password>\n  %s\n</Password>",
	"aws":                 "aws_secret_access_key = %s",
	"token header":        "X-Auth-Token: %s",
	"quoted with a blank": `"password": "%s and more"`,
}

func TestCommandsHideSecrets(t *testing.T) {
	for _, table := range []map[string]string{commandsWithSecrets, textsWithSecrets} {
		for name, form := range table {
			t.Run(name, func(t *testing.T) {
				for _, secret := range []string{"c4n4ryc4n4ryc4n4ry1234", "C4n4ry!c4n4ry/c4n4ry+="} {
					if name == "sas, encoded" || name == "no scheme" || strings.Contains(form, "@git") {
						secret = "c4n4ryc4n4ryc4n4ry1234" // the following encode the rest
					}
					in := strings.ReplaceAll(strings.ReplaceAll(form, "%s", secret), "%%", "%")
					if got := Text(in); strings.Contains(strings.ToLower(got), "c4n4ry") || !strings.Contains(got, Mark) {
						t.Errorf("%q becomes %q", in, got)
					}
				}
			})
		}
	}
}

func TestOrdinaryTextIsKept(t *testing.T) {
	for _, text := range []string{
		"docker run -d -p 8080:80 --name web nginx",
		"docker run -u 1000 -p 8080:80/tcp nginx",
		"docker run --user 1000:1000 -p 127.0.0.1:8080:80 nginx",
		"ctr run --user 1000:1000 docker.io/library/x:1 x",
		"podman run -u app:app x",
		"mkdir -p /etc/kubernetes/manifests",
		"sudo -u capi mkdir -p /etc/x",
		"ps -u root -p 1234",
		"cp -u -p a b",
		"ssh -p 22 capi@10.0.0.4",
		"ssh -o ProxyCommand=\"ssh -W %h:%p -p 22 capi@10.0.0.4\" capi@10.1.0.4",
		"iptables -A INPUT -p tcp --dport 6443 -j ACCEPT",
		"kubectl patch node x -p '{\"spec\":{\"taints\":[]}}'",
		"netstat -anp tcp", "nmap -p 443 10.0.0.4",
		"xargs -n 1 -p echo",
		"msbuild /p:Configuration=Release",
		"net user capi", "net user capi /add", "net user capi * /add", "the net user count is 5",
		"net start kubelet", `net use Z: \\files.example\share`, "net use",
		"tar -xzpf x.tgz", "wins.exe cli net adapter get",
		"New-LocalUser -Name capi -Password $password", "Set-Service -Name kubelet -Credential (Get-Credential)",
		"$p = Read-Host -AsSecureString; ConvertTo-SecureString $text -AsPlainText -Force",
		"ConvertTo-SecureString: the input string is not in the correct format", // a message of PowerShell
		"docker login --username u --password-stdin r.example",
		"login succeeded, then ssh -p 22 node",
		"az login --use-device-code", "az login --identity",
		"kubeadm join 10.0.0.4:6443 --discovery-token-ca-cert-hash sha256:12ab --v=5",
		"the token has expired: run kubeadm token create",
		"invalid token: signature mismatch",
		"error: secret \"demo-kubeconfig\" not found",
		"the authorization failed: the client does not have permission",
		"authorization-mode: Node,RBAC", "authorization: AuthorizationFailed", "--authorization-mode=Node,RBAC",
		"PWD=/root", "cd; pwd", "OLDPWD=/etc",
		"https://127.0.0.1:6443/healthz", "ssh://git@github.com/x", "oci://mcr.microsoft.com/x:1@sha256:12",
		"$env:Path += ';C:\\k'", "price: $1.50, $5 more", "~/.kube/config",
		"kubelet --kubeconfig=/etc/kubernetes/kubelet.conf --cloud-provider=external",
		"schtasks /query /tn x", "schtasks /run /tn \"start kubelet\"",
		"-----BEGIN CERTIFICATE-----", "sigs.k8s.io/yaml", "design=good",
		"keyvault secret show --name x", "pass: 12, fail: 0",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestArguments(t *testing.T) {
	for in, want := range map[string]string{
		`["docker","login","-u","u","-p","CANARY","r.example"]`: `["docker","login","-u","u","-p","[redacted]","r.example"]`,
		`["kubeadm","join","--token","CANARY","10.0.0.4:6443"]`: `["kubeadm","join","--token","[redacted]","10.0.0.4:6443"]`,
		`["--password","CANARY and more","x"]`:                  `["--password","[redacted]","x"]`,
		`["net","user","capi","CANARY","/add"]`:                 `["net","user","capi","[redacted]","/add"]`,
		`["run","-p","8080:80","web"]`:                          `["run","-p","8080:80","web"]`,
		`["sh","-c","mkdir -p /x; ls"]`:                         `["sh","-c","mkdir -p /x; ls"]`,
		`["--token=CANARY","--v=5"]`:                            `["--token=[redacted]","--v=5"]`,
		`["--token","CANARY","--password","CANARY","x"]`:        `["--token","[redacted]","--password","[redacted]","x"]`,
	} {
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(Object(v))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s becomes\n%s, want\n%s", in, got, want)
		}
	}
}

func TestLinesOfAPrivateKey(t *testing.T) {
	in := strings.Split(`before
-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED

MIIEc4n4ryc4n4ryc4n4ryc4n4ry
c4n4ry==
-----END RSA PRIVATE KEY----- after
2026-11-21T14:00:00Z stderr F -----BEGIN PRIVATE KEY-----
2026-11-21T14:00:00Z stderr F MIIEc4n4ryc4n4ryc4n4ryc4n4ry
2026-11-21T14:00:00Z stderr F kubelet started, the key was cut off
and more`, "\n")
	var l Lines
	var out []string
	for _, line := range in {
		out = append(out, l.Text(line))
	}
	got := strings.Join(out, "\n")
	if strings.Contains(got, "c4n4ry") {
		t.Errorf("a key is left:\n%s", got)
	}
	for _, kept := range []string{"before", "after", "kubelet started, the key was cut off", "and more"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is lost:\n%s", kept, got)
		}
	}
}

// FuzzCommands inserts random words at the place of the secrets.
func FuzzCommands(f *testing.F) {
	for _, s := range []string{"Passw0rd!", "0123456789abcdef", "a=b,c/d", "$6$x"} {
		f.Add(s, "ordinary text before", "after it")
	}
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		// Characters that a shell reads as one word, such that the word is not a flag, path, port or variable.
		secret = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("!+._", r) {
				return r
			}
			return -1
		}, secret)
		secret = "Zq9x" + secret + "x9qZ"
		if strings.Contains(strings.ToLower(before+after), strings.ToLower(secret)) {
			return
		}
		for name, form := range commandsWithSecrets {
			in := before + "\n" + strings.ReplaceAll(form, "%s", secret) + "\n" + after
			if got := Text(in); strings.Contains(got, secret) {
				t.Errorf("%s: %q becomes %q", name, in, got)
			}
		}
	})
}
