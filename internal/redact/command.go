package redact

import (
	"regexp"
	"slices"
	"strings"
)

// value matches a value on a command line: quoted, even without its closing quote, or up to a space. A single quote is
// doubled if the command is in YAML.
const value = `(?:"(?:\\.|[^"\\\n])*"?|''[^'\n]+''|'[^'\n]*'?|\S+)`

// literal matches a literal of PowerShell, but no variable, expression or further parameter.
const literal = `(?:"(?:\\.|[^"\\\n])*"?|''[^'\n]+''|'[^'\n]*'?|[^\s$(|@-]\S*)`

// unlikePort matches a value that is not a port, port mapping, path or variable, as in -p flags that are not passwords.
const unlikePort = `(?:"[^"\n]*"?|'[^'\n]*'?|[0-9.:-]*[^\s0-9.:/$"'-]\S*)`

// glued matches a value that follows its flag without a space.
const glued = `(?:"[^"\n]*"?|'[^'\n]*'?|[^\s"',]+)`

// rest matches the arguments between a program and one of its flags.
const rest = `[^\n|;&]*?`

// secretFlags match the end of the name of a flag whose value is a secret.
const secretFlags = `token|passwo?r?d|pass|secret|key|key-data|connection-string|passphrase|creds|custom-data|user-data|` +
	`protected-settings|protected-parameters`

// parameters are flags of PowerShell, Java and Go, with one hyphen.
const parameters = `password|passwd|passphrase|token|secret|accountkey|accesskey|apikey|storepass|keypass|connectionstring`

// asking match programs that read a password from their standard input.
const asking = `runas|sudo\s+-\w*s|su\b|kinit|cryptsetup|smbclient|ldap\w+\s[^|\n]*-y|` +
	`[^|\n]*(?:--password-stdin|--passphrase-fd|-passin\s+stdin|--stdin-password)`

// commands are the rules that find secrets by their place on a command line. A short flag counts only for a known
// program, or after a flag for the user, because -p has a different meaning in each program.
var commands = []rule{
	command(`(--(?:[a-z0-9-]*-)?(?:`+secretFlags+`)(?:\s+|=|["'],\s*["']))\S+`, "--"),
	command(`("--(?:[a-z0-9-]*-)?(?:`+secretFlags+`)",\s*)"[^"]*"`, `"--`),
	// The text for ConvertTo-SecureString follows it or comes through a pipe.
	command(`(\bconvertto-securestring\s+(?:-(?:asplaintext|force)\s+)*(?:-string\s+)?)`+literal, "convertto-securestring"),
	{find: regexp.MustCompile(`(?i)(?:"[^"\n]*"|'[^'\n]*')(\s*\|\s*convertto-securestring)`), with: Mark + "${1}",
		may: holdsLower("convertto-securestring")},
	command(`((?:pscredential|networkcredential)\]?(?:::new)?\s*\(\s*(?:"[^"\n]*"|'[^'\n]*'|\$[\w.:]+)\s*,`+
		`\s*)(?:"[^"\n]*"|'[^'\n]*')`, "credential"),
	command(`((?:^|[\s"'(])-[a-z0-9-]*(?:`+parameters+`)(?:\s+|:\s*))`+literal, "passw", "passphrase", "token",
		"secret", "key", "storepass",
		"connectionstring").and(" -", "\t-", "\n-", "\r-", "\f-", "\v-", `"-`, "'-", "(-", "^-"),
	command(`(\bsetenvironmentvariable\(\s*["'][a-z0-9_]*(?:password|token|secret|key)["']\s*,\s*)(?:"[^"\n]*"|'[^'\n]*')`,
		"setenvironmentvariable"),
	command(`(\bsetx(?:\.exe)?\s+(?:/m\s+)?["']?[a-z0-9_]*(?:password|token|secret|key)["']?\s+)`+value, "setx"),
	// Databases and directories. Only the -p of mysql is followed by its value without a space.
	command(`(\b(?:mysql\w*|mariadb[\w-]*)(?:\.exe)?["']?(?:[\s,]`+rest+`)?[\s"',]-p)`+glued, "mysql", "mariadb"),
	command(`(\b(?:mongo\w*|sqlcmd|bcp|osql)(?:\.exe)?\s`+rest+`\s-p[\s=]*)`+value, "mongo", "sqlcmd", "bcp", "osql"),
	command(`(\bredis-cli(?:\.exe)?\s`+rest+`\s-a\s+)`+value, "redis-cli"),
	command(`(\bldap\w+\s`+rest+`\s-w\s*)`+value, "ldap"),
	command(`(\bvault(?:\.exe)?\s+login\s+)[^\s-]\S*`, "vault"),
	command(`(\bsmbclient\s`+rest+`-U[\s=]*["']?[^\s%"']+%)[^\s"']+`, "smbclient"),
	command(`(\bidentified\s+(?:with\s+\w+\s+)?by\s+)(?:"[^"\n]*"|'[^'\n]*')`, "identified"),
	command(`(\breg(?:\.exe)?\s+add\s[^\n|&]*?/v\s+["']?\w*password\w*["']?\s[^\n|&]*?/d\s+)`+value, "password"),
	// The flag -p of programs for which it is a password.
	command(`(\b(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|helm|az)(?:\.exe)?\s+(?:\w+\s+)?login\b`+rest+
		`\s-p[\s=]*)`+value, "login"),
	command(`(\b(?:sshpass|useradd|usermod|psexec(?:64)?|winrs)(?:\.exe)?\s`+rest+`-p[\s=:]*)`+value, "sshpass",
		"useradd", "usermod", "psexec", "winrs"),
	{find: regexp.MustCompile(`((?:^|\s)-[uU][\s=:]+[^\s-]\S*\s+-[pP][\s=:]+)` + unlikePort), with: "${1}" + Mark, may: holds("-p", "-P")},
	{find: regexp.MustCompile(`((?:^|\s)-p[\s=:]+)` + unlikePort + `(\s+-u[\s=:]+[^\s-])`), with: "${1}" + Mark + "${2}", may: holds("-p")},
	// user:password in one argument.
	command(`(\bcurl(?:\.exe)?\s(?:[^|;&]{0,400}?[\s])??(?:-u|--user)[\s=]*["']?[^:\s]*?["']?:)`+value, "curl"),
	command(`(\bctr(?:\.exe)?\s`+rest+`\b(?:pull|push)\s`+rest+`(?:-u|--user)[\s=]+["']?[^\s:"']+:)`+value, "ctr"),
	command(`(\bcrictl(?:\.exe)?\s`+rest+`--auth[\s=]+)`+value, "crictl"),
	// The pairs of chpasswd: before a pipe, after <<<, and on the lines of cloud-init's list.
	command(`(\b(?:echo|printf)\s[^|\n]*?[\w.-]+:)[^|\s"'][^|\n]*?(["']?\s*\|\s*(?:sudo\s+)?chpasswd)`, "chpasswd"),
	command(`(\bchpasswd\b[^|\n]*<<<?\s*["']?[\w.-]+:)[^\s"']+`, "chpasswd"),
	command(`((?:^|\n)[ \t]+(?:- )?[\w.-]+:)[^\s:"'/]+`, "chpasswd:"),
	command(`(\becho\s+(?:-[en]+\s+)?)`+value+`(\s*\|\s*(?:sudo\s+)?passwd\b)`, "passwd"),
	// Text that is piped into a program that asks for a password.
	command(`(\b(?:echo|printf|write-output)\s+)[^|\n]+?(\s*\|\s*(?:sudo\s+)?(?:`+asking+`))`, "|"),
	command(`(\b(?:`+asking+`)\b[^|<\n]*<<<\s*)`+value, "<<<"),
	command(`(\bsend\s+(?:--\s+)?["{])[^"\n]+?(\\[rn]["}])`, "send"),
	command(`(\bsendkeys\(\s*)(?:"[^"\n]*"|'[^'\n]*')`, "sendkeys"),
	command(`(\bbitsadmin(?:\.exe)?\s+/setcredentials\s+(?:\S+\s+){4})\S+`, "bitsadmin"),
	command(`(\bnetsh(?:\.exe)?\s[^\n|&]*?\bkey=)`+value, "netsh"),
	command(`(-name\s+["']?[\w-]*(?:password|passwd|secret|token)["']?\s[^\n|;]*?-value\s+)`+literal, "-value"),
	command(`((?:^|\n)[ \t]*env\s+\w*(?:password|passwd|secret|token|_key)\s+)`+value, "env"),
	{find: regexp.MustCompile(`((?:^|\n)[ \t]*user [\w.\\@-]+ )(\S*[0-9]\S*)`), with: "${1}" + Mark, may: holds("user ")},
	// Windows' own commands: net user NAME PASSWORD, net use PATH PASSWORD, /p:PASSWORD.
	command(`((?:^|[\n;&|"'(>]|/c\s|-command\s)\s*net1?(?:\.exe)?\s+user\s+`+value+`\s+)[^\s/*]\S*`, "net").and("use"),
	command(`(\bnet1?(?:\.exe)?\s+user\s+`+value+`\s+)[^\s/*]\S*(\s+/[a-z])`, "net").and("use"),
	command(`(\bnet1?(?:\.exe)?\s+use\s+(?:[a-z*]:?\s+)?["']?\\\\\S+\s+(?:/user:\S+\s+)?)[^\s/*]\S*`, "net").and("use"),
	command(`(\b(?:schtasks|[a-z-]*freerdp3?|mstsc|cmdkey|netdom)(?:\.exe)?\s[^\n|&]*?/(?:rp|p|gp|pass|`+
		`passwordd|passwordo)(?:\s+|:))`+value, "schtasks", "freerdp", "mstsc", "cmdkey", "netdom"),
	command(`((?:^|[\s"'])/(?:pass(?:word)?|pwd|pw|psw):)`+value, "/pass", "/pw", "/psw"),
	// user:password after a flag whose name indicates it, and the passwords of PuTTY's programs, ipmitool and others.
	command(`((?:^|[\s"'])--?(?:auth|user|userpwd|proxy-user|login|basic-auth|basic)(?:\s+|=)["']?[^\s:"']*[^\s:"'0-9][^\s:"']*:)[^\s"']+`,
		"auth", "user", "login", "basic"),
	command(`((?:^|[\s"'])--?(?:pw|pwd|psw|passwd|pin|otp|cred|creds|salt|license|licence|activation-code|product-key)(?:\s+|[=:]))`+value,
		"-p", "-otp", "-cred", "-salt", "-licen", "-activation"),
	command(`(\bsetpassword\s+)`+value, "setpassword"),
	command(`(\bnssm(?:\.exe)?\s+set\s+\S+\s+objectname\s+\S+\s+)`+value, "nssm"),
	command(`(\b(?:ksetup|djoin)(?:\.exe)?\s[^\n|&]*?/(?:setcomputerpassword|passwd)\s+)`+value, "ksetup", "djoin"),
	command(`(\b(?:certutil|signtool)(?:\.exe)?\s(?:`+rest+`\s)?[-/]p\s+)`+value, "certutil", "signtool"),
	// Archives, keys, devices and agents.
	command(`(\b(?:zip|ipmitool|ssh-keygen)(?:\.exe)?\s(?:`+rest+`\s)?-P\s+)`+value, "zip", "ipmitool", "ssh-keygen"),
	command(`(\bssh-keygen(?:\.exe)?\s(?:`+rest+`\s)?-N\s+)`+value, "ssh-keygen"),
	command(`(\b(?:7z|7za|unrar|rar)(?:\.exe)?\s`+rest+`\s-p)`+glued, "7z", "rar"),
	command(`(\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+)`+value, "htpasswd"),
	command(`(\bwpa_passphrase\s+\S+\s+)`+value, "wpa_passphrase"),
	command(`(\bsnmp\w+\s`+rest+`\s-[AX]\s+)`+value, "snmp"),
	command(`(\brclone(?:\.exe)?\s`+rest+`\spass\s+)`+value, "rclone"),
	command(`(\bsqlplus(?:\.exe)?\s+(?:-\w+\s+)*[\w.]+/)[^\s@"']+`, "sqlplus"),
	command(`(\b(?:omsagent|onboard_agent|onboard_linux)(?:\.sh|\.exe)?\s`+rest+`\s-s\s+)`+value, "omsagent", "onboard"),
	command(`(--from-literal[\s=]["']?[\w.-]+=)[^\s"']+`, "--from-literal"),
	command(`(\bslmgr(?:\.vbs)?["']?\s+[/-](?:ipk|atp)\s+)`+value, "slmgr"),
	{find: regexp.MustCompile(`((?:^|\s)-k[\s=]+)([^\s"'-][^\s"']{5,})`), with: "${1}" + Mark, may: holds("-k"), when: func(g []string) bool {
		return mixed(g) && !strings.Contains(g[2], "://") && !strings.HasPrefix(g[2], "/")
	}},
	// Other commands of Azure and OpenSSL.
	command(`(\bkeyvault\s+secret\s+set\s`+rest+`--value[\s=]+)`+value, "keyvault"),
	command(`(\s-pass(?:in|out)?\s+["']?pass:)`+value, "pass:"),
}

// commandLike reports whether a text may be a command line with a value, or a part of one. Most texts in objects are a
// name, a path or a number.
func commandLike(s string) bool {
	return strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\r\n\f\v\"'(")
}

// command returns a rule that keeps the text of its groups, ignores case, and runs only on texts that
// contain one of the parts in lower case.
func command(pattern string, parts ...string) rule {
	find := regexp.MustCompile(`(?i)` + pattern)
	with := "${1}" + Mark
	if find.NumSubexp() == 2 {
		with += "${2}"
	}
	return rule{find: find, with: with, may: holdsLower(parts...)}
}

// and returns the rule for texts that also contain one of the parts in lower case; a part with ^ must be at the
// beginning of the text.
func (r rule) and(parts ...string) rule {
	may := r.may
	r.may = func(t *subject) bool {
		return slices.ContainsFunc(parts, func(part string) bool {
			begin, at := strings.CutPrefix(part, "^")
			return at && strings.HasPrefix(t.lower, begin) || !at && t.has(part)
		}) && may(t)
	}
	return r
}

// arguments removes the secrets from a list of texts that may be arguments: from each text by itself, and as the
// successor of the texts before it.
func arguments(list []any) {
	words := make([]string, len(list))
	for i := range list {
		text := Text(list[i].(string))
		list[i], words[i] = text, quoted(text)
	}
	if line := strings.Join(words, " "); Text(line) == line {
		return
	}
	before := ""
	for i, word := range words {
		if after, same := strings.CutPrefix(Text(before+word), before); !same || after != word {
			list[i] = Mark
			words[i] = Mark
		}
		before += words[i] + " "
	}
}

func quoted(arg string) string {
	if strings.ContainsAny(arg, " \t\n") {
		return `"` + strings.ReplaceAll(arg, `"`, `\"`) + `"`
	}
	return arg
}

// allText reports whether all elements of a list are texts.
func allText(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { _, isText := v.(string); return !isText })
}
