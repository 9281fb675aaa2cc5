package redact

import (
	"fmt"
	"strings"
	"testing"
)

// prose are lines in which a user, a log or a script has a secret at %s without a field's name.
var prose = map[string]string{
	"runas":                 `echo %s | runas /user:CONTOSO\svc "cmd /c whoami"`,
	"runas, savecred":       `runas.exe /user:CONTOSO\svc /password %s cmd.exe`,
	"expect, send":          `expect -c 'spawn ssh u@h; expect "assword:"; send "%s\r"; interact'`,
	"expect, send of Tcl":   `send -- "%s\n"`,
	"SendKeys":              `$wsh.SendKeys('%s{ENTER}')`,
	"here-string":           `sudo -S ls <<< '%s'`,
	"echo to sudo":          `echo '%s' | sudo -S apt-get update`,
	"echo to login":         `echo %s | docker login -u u --password-stdin r.example`,
	"echo to az":            `printf %%s '%s' | az login --service-principal -u id --password-stdin`,
	"cat to kinit":          `echo %s | kinit svc@CONTOSO.COM`,
	"openssl -k":            `openssl enc -aes-256-cbc -k %s -in a -out b`,
	"gpg, fd":               `echo %s | gpg --batch --passphrase-fd 0 -d x.gpg`,
	"prose, with":           `log in with the password %s please`,
	"prose, is now":         `the new password is now %s`,
	"prose, set to":         `password of svc set to %s`,
	"prose, changed":        `Changed password for sa from %s to hunter2x`,
	"prose, credentials":    `credentials: svc / %s`,
	"prose, user and pw":    `user svc, password %s`,
	"prose, German":         `das Kennwort lautet %s`,
	"prose, Kennwort":       `Kennwort: %s`,
	"prose, login":          `login svc:%s@CONTOSO`,
	"error of SQL":          `Login failed for user 'sa' using password '%s'`,
	"T-SQL":                 `ALTER LOGIN sa WITH PASSWORD = N'%s'`,
	"T-SQL, user":           `CREATE LOGIN app WITH PASSWORD='%s', CHECK_POLICY=OFF`,
	"pg":                    `CREATE ROLE app LOGIN PASSWORD '%s'`,
	"unattend":              `<AdministratorPassword><Value>%s</Value><PlainText>true</PlainText></AdministratorPassword>`,
	"unattend, autologon":   `<AutoLogon><Password><Value>%s</Value></Password></AutoLogon>`,
	"registry, DefaultPass": `Set-ItemProperty HKLM:\x -Name DefaultPassword -Value '%s'`,
	"New-ItemProperty":      `New-ItemProperty -Path HKLM:\x -Name AutoAdminPassword -PropertyType String -Value %s`,
	"PSCredential, splat":   `[pscredential]::new("svc",(ConvertTo-SecureString '%s' -AsPlainText -Force))`,
	"plink, -pw":            `plink -batch -pw %s svc@host`,
	"winscp":                `open sftp://svc:%s@host/`,
	"bitsadmin":             `bitsadmin /setcredentials job SERVER BASIC svc %s`,
	"netsh wlan":            `netsh wlan set hostednetwork key=%s`,
	"cmdkey":                `cmdkey /add:host /user:svc /pass:%s`,
	"iis appcmd":            `appcmd set apppool x /processModel.password:%s`,
	"sc config":             `sc.exe config svc obj= CONTOSO\svc password= %s`,
	"wget":                  `wget --user=u --password=%s http://x`,
	"ftp script":            `user svc %s`,
	"Dockerfile":            `ENV DB_PASSWORD %s`,
}

// placed are fields of objects in which a user put an ordinary word at %s.
var placed = map[string]string{
	"message of a condition, quoted": `{status: {conditions: [{message: "password '%s' rejected"}]}}`,
	"lifecycle, exec":                `{lifecycle: {preStop: {exec: {command: ["sh", "-c", "echo %s | runas /user:a b"]}}}}`,
	"a label's annotation":           `{metadata: {annotations: {"casement.dev/note": "%s"}}}`,
	"ConfigMap":                      `{kind: ConfigMap, data: {app.conf: "who=%s"}}`,
	"ConfigMap, binary":              `{kind: ConfigMap, binaryData: {x: "%s"}}`,
	"ntp of cloud-init":              `{spec: {ntp: {servers: ["0.pool"]}, users: [{name: a, hashedPasswd: "%s"}]}}`,
	"file of KubeadmConfig":          `{spec: {files: [{path: /x, contentFrom: {secret: {name: a}}, content: "%s"}]}}`,
	"a topology's patch":             `{spec: {patches: [{definitions: [{jsonPatches: [{op: add, path: /x, value: "%s"}]}]}]}}`,
}

// TestFortyCanaries: none of the secrets that an independent reviewer added is left.
func TestFortyCanaries(t *testing.T) {
	for name, form := range prose {
		for _, secret := range []string{"c4n4ryC4n4ry", "Tulpen!markt7", "48213957"} {
			if got := Text(fmt.Sprintf(form, secret)); strings.Contains(got, secret) {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	hiddenIn(t, placed)
}
