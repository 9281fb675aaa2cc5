package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// aclFile stores the access lists that scripts have changed, beside the file tree.
const aclFile = "acls.json"

// maxACLs bounds the paths that have their own access list.
const maxACLs = 4096

// ACL is the access list of a file or folder: its own entries, and whether it inherits the entries of the folder
// above.
type ACL struct {
	Inherits bool  `json:"inherits"`
	Entries  []ACE `json:"entries,omitempty"`
}

// ACE is an entry of an access list, as icacls writes it.
type ACE struct {
	Account string `json:"account"`
	// Deny is set for an entry that denies rights.
	Deny bool `json:"deny,omitempty"`
	// Flags are the inheritance flags, such as (OI)(CI), Rights the rights, such as F or RX.
	Flags  string `json:"flags,omitempty"`
	Rights string `json:"rights"`
	// Inherited is set for an entry that comes from a folder above.
	Inherited bool `json:"-"`
}

// driveACL returns the entries that a folder on the system drive of Windows Server inherits.
func driveACL() ACL {
	return ACL{Entries: []ACE{
		{Account: `NT AUTHORITY\SYSTEM`, Flags: "(OI)(CI)", Rights: "F"},
		{Account: `BUILTIN\Administrators`, Flags: "(OI)(CI)", Rights: "F"},
		{Account: `BUILTIN\Users`, Flags: "(OI)(CI)", Rights: "RX"},
		{Account: `CREATOR OWNER`, Flags: "(OI)(CI)(IO)", Rights: "F"},
	}}
}

func (m *Machine) acls() (map[string]ACL, error) {
	out := map[string]ACL{}
	data, err := m.Folder.ReadFile(aclFile)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("read the access lists of %s: %w", aclFile, err)
	}
	return out, nil
}

// aclKey returns the key of a path in aclFile.
func aclKey(path string) string {
	return strings.TrimRight(strings.ToLower(strings.ReplaceAll(path, "/", `\`)), `\`)
}

// ACL returns the access list of a path with the entries that it inherits.
func (m *Machine) ACL(path string) (ACL, error) {
	all, err := m.acls()
	if err != nil {
		return ACL{}, err
	}
	return effectiveACL(all, aclKey(path)), nil
}

func effectiveACL(all map[string]ACL, key string) ACL {
	own, has := all[key]
	if !has {
		own = ACL{Inherits: true}
	}
	above, _, nested := cutLast(key)
	switch {
	case !nested && !has:
		return driveACL()
	case !nested || !own.Inherits:
		return own
	}
	out := ACL{Inherits: true, Entries: slices.Clone(own.Entries)}
	for _, e := range effectiveACL(all, above).Entries {
		e.Inherited = true
		if e.Flags != "" { // a subfolder does not inherit entries for the folder alone
			out.Entries = append(out.Entries, e)
		}
	}
	return out
}

func cutLast(path string) (above, name string, nested bool) {
	i := strings.LastIndexByte(path, '\\')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// EditACL changes the access list of a path and stores it.
func (m *Machine) EditACL(path string, edit func(own *ACL, all ACL)) error {
	lists, err := m.acls()
	if err != nil {
		return err
	}
	key := aclKey(path)
	own, has := lists[key]
	if !has {
		if own = (ACL{Inherits: true}); !strings.Contains(key, `\`) {
			own = driveACL()
		}
	}
	edit(&own, effectiveACL(lists, key))
	if _, has := lists[key]; !has && len(lists) >= maxACLs {
		return fmt.Errorf("more than %d access lists of their own", maxACLs)
	}
	lists[key] = own
	data, err := json.Marshal(lists)
	if err != nil {
		return err
	}
	return m.Folder.WriteFile(aclFile, data)
}
