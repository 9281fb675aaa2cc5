package shell

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// wellKnown are the accounts of well-known SIDs. Source:
// https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers.
var wellKnown = map[string]string{
	"S-1-1-0": "Everyone", "S-1-3-0": "CREATOR OWNER", "S-1-5-11": `NT AUTHORITY\Authenticated Users`,
	"S-1-5-18": `NT AUTHORITY\SYSTEM`, "S-1-5-19": `NT AUTHORITY\LOCAL SERVICE`, "S-1-5-20": `NT AUTHORITY\NETWORK SERVICE`,
	"S-1-5-32-544": `BUILTIN\Administrators`, "S-1-5-32-545": `BUILTIN\Users`,
}

// accountOf returns the full name of an account in an argument of icacls.
func accountOf(p *Process, name string) string {
	if sid, is := strings.CutPrefix(name, "*"); is {
		if known, ok := wellKnown[strings.ToUpper(sid)]; ok {
			return known
		}
		return sid
	}
	for _, known := range wellKnown {
		_, short, _ := strings.Cut(known, `\`)
		if strings.EqualFold(name, known) || strings.EqualFold(name, short) {
			return known
		}
	}
	if !strings.Contains(name, `\`) {
		return strings.ToUpper(p.Guest.ComputerName) + `\` + name
	}
	return name
}

// permission matches a permission of icacls: inheritance flags, and simple or specific rights.
var permission = regexp.MustCompile(`^((?:\((?:OI|CI|IO|NP)\))*)\(?(N|F|M|RX|R|W|D|[A-Z]{1,3}(?:,[A-Z]{1,3})*)\)?$`)

// icacls shows and changes access lists. They are stored, but they deny no access.
func icacls(ctx context.Context, p *Process) int {
	if len(p.Args) < 2 {
		return p.refuseAs(1, "the help of icacls")
	}
	name := p.Args[1]
	files := namesOf(p, name)
	if len(files) == 0 || !p.Guest.Root.Exists(p.Abs(files[0])) {
		p.Printf("%s: The system cannot find the file specified.\r\nSuccessfully processed 0 files; Failed processing 1 files\r\n", name)
		return 2
	}
	edits, bad := aclEdits(p)
	if bad != "" {
		if slices.Contains([]string{"/save", "/restore", "/setowner", "/findsid", "/verify", "/setintegritylevel"}, bad) {
			return p.Refuse("icacls %s", bad)
		}
		p.Printf("Invalid parameter \"%s\"\r\n", bad)
		return 87
	}
	for _, f := range files {
		path := p.Abs(f)
		if len(edits) == 0 {
			acl, err := p.Guest.ACL(path)
			if err != nil {
				return p.failed(f, err)
			}
			printACL(p, f, acl)
			continue
		}
		for _, edit := range edits {
			if err := p.Guest.EditACL(path, edit); err != nil {
				return p.failed(f, err)
			}
		}
		p.Printf("processed file: %s\r\n", f)
	}
	p.Printf("Successfully processed %d files; Failed processing 0 files\r\n", len(files))
	return 0
}

type aclEdit = func(own *machine.ACL, all machine.ACL)

// aclEdits returns the changes in the arguments of icacls, or the argument that is wrong.
func aclEdits(p *Process) (edits []aclEdit, bad string) {
	args := p.Args[2:]
	for i := 0; i < len(args); i++ {
		word := strings.ToLower(args[i])
		switch {
		case slices.Contains([]string{"/t", "/c", "/q", "/l"}, word):
		case word == "/reset":
			edits = append(edits, func(own *machine.ACL, _ machine.ACL) { *own = machine.ACL{Inherits: true} })
		case strings.HasPrefix(word, "/inheritance:"):
			how := strings.TrimPrefix(word, "/inheritance:")
			if !slices.Contains([]string{"e", "d", "r"}, how) {
				return nil, args[i]
			}
			edits = append(edits, inheritance(how))
		case word == "/remove", word == "/remove:g", word == "/remove:d", word == "/grant", word == "/grant:r", word == "/deny":
			first := i + 1
			for ; i+1 < len(args) && !strings.HasPrefix(args[i+1], "/"); i++ {
				edit, ok := entryEdit(p, word, args[i+1])
				if !ok {
					return nil, args[i+1]
				}
				edits = append(edits, edit)
			}
			if i < first {
				return nil, args[i]
			}
		default:
			return nil, word
		}
	}
	return edits, ""
}

// inheritance returns the change of /inheritance: e inherits entries from above, r drops them, d keeps copies of
// them.
func inheritance(how string) aclEdit {
	return func(own *machine.ACL, all machine.ACL) {
		own.Inherits = how == "e"
		for _, e := range all.Entries {
			if how == "d" && e.Inherited {
				e.Inherited = false
				own.Entries = append(own.Entries, e)
			}
		}
	}
}

// entryEdit returns the change of one account by /grant, /deny or /remove.
func entryEdit(p *Process, word, text string) (aclEdit, bool) {
	name, rights, has := strings.Cut(text, ":")
	account := accountOf(p, name)
	of := func(e machine.ACE) bool { return e.Account == account }
	if strings.HasPrefix(word, "/remove") {
		return func(own *machine.ACL, _ machine.ACL) { own.Entries = slices.DeleteFunc(own.Entries, of) }, !has
	}
	m := permission.FindStringSubmatch(strings.ToUpper(rights))
	if m == nil {
		return nil, false
	}
	entry := machine.ACE{Account: account, Deny: word == "/deny", Flags: m[1], Rights: m[2]}
	return func(own *machine.ACL, _ machine.ACL) {
		if word == "/grant:r" {
			own.Entries = slices.DeleteFunc(own.Entries, of)
		}
		if !slices.Contains(own.Entries, entry) {
			own.Entries = append([]machine.ACE{entry}, own.Entries...)
		}
	}, true
}

// printACL prints an access list as icacls does, with one account per line.
func printACL(p *Process, name string, acl machine.ACL) {
	for i, e := range acl.Entries {
		lead := name
		if i > 0 {
			lead = strings.Repeat(" ", len(name))
		}
		text := e.Account + ":"
		if e.Inherited {
			text += "(I)"
		}
		if e.Deny {
			text += "(DENY)"
		}
		p.Printf("%s %s%s(%s)\r\n", lead, text, e.Flags, e.Rights)
	}
	if len(acl.Entries) == 0 {
		p.Printf("%s\r\n", name)
	}
	p.Printf("\r\n")
}
