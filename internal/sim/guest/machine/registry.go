package machine

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"casement.dev/casement/internal/guestfs"
)

// registryFile stores the registry of a guest after its first change.
const registryFile = `C:\Windows\System32\config\casement-registry.json`

// TasksKey is the key of the scheduled tasks. Each task is a key below it.
const TasksKey = `HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Schedule\TaskCache\Tree`

// Value is a value of the registry.
type Value struct {
	// Kind is String, ExpandString, DWord, QWord, MultiString or Binary.
	Kind string   `json:"kind"`
	Text string   `json:"text,omitempty"`
	List []string `json:"list,omitempty"`
}

// MarshalJSON encodes the bytes of a binary value as base64, because they may be no valid text.
func (v Value) MarshalJSON() ([]byte, error) {
	type plain Value
	if v.Kind == "Binary" {
		v.Text = base64.StdEncoding.EncodeToString([]byte(v.Text))
	}
	return json.Marshal(plain(v))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Value) UnmarshalJSON(data []byte) error {
	type plain Value
	if err := json.Unmarshal(data, (*plain)(v)); err != nil || v.Kind != "Binary" {
		return err
	}
	if plain, err := base64.StdEncoding.DecodeString(v.Text); err == nil { // files of older versions have the bytes
		v.Text = string(plain)
	}
	return nil
}

// Key is a key of the registry with its values, by their names as written.
type Key struct {
	Path   string           `json:"path"`
	Values map[string]Value `json:"values,omitempty"`
}

// Registry is a Windows guest's registry, stored in a file of the guest. Paths begin with HKLM, HKCU, HKCR, HKU or
// HKCC. Paths and names are case-insensitive. It is safe for use from several goroutines.
type Registry struct {
	mu    sync.Mutex
	root  *guestfs.Root
	fresh map[string]Key
}

// Registry returns the guest's registry.
func (m *Machine) Registry() *Registry {
	m.registryOnce.Do(func() { m.registry = &Registry{root: m.Root, fresh: imageKeys(m.Spec)} })
	return m.registry
}

// CleanKey returns a key's path in one spelling.
func CleanKey(path string) string {
	path = strings.Trim(strings.ReplaceAll(path, "/", `\`), `\`)
	for len(path) > 0 && strings.Contains(path, `\\`) {
		path = strings.ReplaceAll(path, `\\`, `\`)
	}
	head, rest, nested := strings.Cut(path, `\`)
	for long, short := range map[string]string{"HKEY_LOCAL_MACHINE": "HKLM", "HKEY_CURRENT_USER": "HKCU",
		"HKEY_CLASSES_ROOT": "HKCR", "HKEY_USERS": "HKU", "HKEY_CURRENT_CONFIG": "HKCC"} {
		if strings.EqualFold(head, long) || strings.EqualFold(head, short) {
			head = short
		}
	}
	if nested {
		return head + `\` + rest
	}
	return head
}

// load returns all keys, by their paths in lower case.
func (r *Registry) load() map[string]Key {
	keys := map[string]Key{}
	for id, k := range r.fresh {
		keys[id] = k
	}
	data, err := r.root.ReadFile(registryFile)
	if err != nil {
		return keys
	}
	var stored []Key
	if json.Unmarshal(data, &stored) != nil {
		return keys // a guest can write to its own file
	}
	keys = map[string]Key{}
	for _, k := range stored {
		keys[strings.ToLower(k.Path)] = k
	}
	return keys
}

func (r *Registry) save(keys map[string]Key) error {
	list := make([]Key, 0, len(keys))
	for _, k := range keys {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Key) int { return strings.Compare(strings.ToLower(a.Path), strings.ToLower(b.Path)) })
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := r.root.MkdirAll(`C:\Windows\System32\config`); err != nil {
		return err
	}
	return r.root.WriteFile(registryFile, data, 0o600)
}

// Key returns a key; ok is false if it does not exist.
func (r *Registry) Key(path string) (Key, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.load()[strings.ToLower(CleanKey(path))]
	return k, ok
}

// Children returns the names of the keys right below a key, sorted.
func (r *Registry) Children(path string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	prefix := CleanKey(path) + `\`
	var out []string
	for id, k := range r.load() {
		if strings.HasPrefix(id, strings.ToLower(prefix)) {
			name, _, _ := strings.Cut(k.Path[len(prefix):], `\`)
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Value returns a value of a key.
func (r *Registry) Value(path, name string) (Value, bool) {
	k, _ := r.Key(path)
	for n, v := range k.Values {
		if strings.EqualFold(n, name) {
			return v, true
		}
	}
	return Value{}, false
}

// edit changes the keys and stores them.
func (r *Registry) edit(change func(map[string]Key) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := r.load()
	if err := change(keys); err != nil {
		return err
	}
	return r.save(keys)
}

// Create creates a key and the keys above it.
func (r *Registry) Create(path string) error {
	return r.edit(func(keys map[string]Key) error {
		addParents(keys, CleanKey(path))
		return nil
	})
}

func addParents(keys map[string]Key, path string) {
	at := ""
	for part := range strings.SplitSeq(path, `\`) {
		at = strings.TrimPrefix(at+`\`+part, `\`)
		if _, ok := keys[strings.ToLower(at)]; !ok {
			keys[strings.ToLower(at)] = Key{Path: at}
		}
	}
}

// Set writes a value, and creates its key if necessary.
func (r *Registry) Set(path, name string, v Value) error {
	path = CleanKey(path)
	return r.edit(func(keys map[string]Key) error {
		addParents(keys, path)
		k := keys[strings.ToLower(path)]
		values := map[string]Value{}
		for n, old := range k.Values {
			if strings.EqualFold(n, name) {
				name = n
			}
			values[n] = old
		}
		values[name] = v
		k.Values = values
		keys[strings.ToLower(path)] = k
		return nil
	})
}

// Unset removes a value. A missing value is no error.
func (r *Registry) Unset(path, name string) error {
	path = CleanKey(path)
	return r.edit(func(keys map[string]Key) error {
		k := keys[strings.ToLower(path)]
		values := map[string]Value{}
		for n, old := range k.Values {
			if !strings.EqualFold(n, name) {
				values[n] = old
			}
		}
		k.Values = values
		if k.Path != "" {
			keys[strings.ToLower(path)] = k
		}
		return nil
	})
}

// Delete removes a key and all keys below it. It returns fs.ErrNotExist if the key does not exist.
func (r *Registry) Delete(path string) error {
	id := strings.ToLower(CleanKey(path))
	return r.edit(func(keys map[string]Key) error {
		if _, ok := keys[id]; !ok {
			return &fs.PathError{Op: "delete", Path: path, Err: errors.Join(fs.ErrNotExist)}
		}
		for other := range keys {
			if other == id || strings.HasPrefix(other, id+`\`) {
				delete(keys, other)
			}
		}
		return nil
	})
}

// imageKeys returns the keys of a fresh image that bootstrap scripts read.
func imageKeys(s Spec) map[string]Key {
	keys := map[string]Key{}
	text := func(kind, v string) Value { return Value{Kind: kind, Text: v} }
	build := s.Image.Build
	if parts := strings.Split(build, "."); len(parts) > 2 {
		build = parts[2]
	}
	for path, values := range map[string]map[string]Value{
		`HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion`: {
			"ProductName": text("String", s.Image.Name), "CurrentBuild": text("String", build),
			"CurrentBuildNumber": text("String", build), "InstallationType": text("String", "Server Core"),
			"SystemRoot": text("String", `C:\Windows`),
		},
		`HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`: {
			"Path": text("ExpandString", imagePath(s)), "TEMP": text("ExpandString", `%SystemRoot%\TEMP`),
			"ComSpec": text("ExpandString", `%SystemRoot%\system32\cmd.exe`),
			"OS":      text("String", "Windows_NT"), "PROCESSOR_ARCHITECTURE": text("String", "AMD64"),
		},
		`HKLM\SYSTEM\CurrentControlSet\Control\Terminal Server`:                      {"fDenyTSConnections": text("DWord", "0")},
		`HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters`:                    {"Hostname": text("String", s.ComputerName)},
		`HKLM\SYSTEM\CurrentControlSet\Services\hns\State`:                           {},
		`HKLM\SYSTEM\CurrentControlSet\Services\Tcpip6\Parameters`:                   {},
		`HKLM\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName`:            {"ComputerName": text("String", s.ComputerName)},
		`HKLM\SYSTEM\CurrentControlSet\Services\Dnscache\Parameters`:                 {},
		`HKLM\SYSTEM\CurrentControlSet\Control\FileSystem`:                           {"LongPathsEnabled": text("DWord", "0")},
		`HKLM\SYSTEM\CurrentControlSet\Control\Lsa`:                                  {},
		`HKLM\SOFTWARE\Policies\Microsoft`:                                           {},
		`HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies\System`:             {"EnableLUA": text("DWord", "1")},
		`HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\Run`:                         {},
		`HKLM\SOFTWARE\Microsoft\.NETFramework\v4.0.30319`:                           {},
		`HKLM\SOFTWARE\OpenSSH`:                                                      {},
		`HKLM\SOFTWARE\Wow6432Node\Microsoft\.NETFramework\v4.0.30319`:               {},
		`HKLM\SYSTEM\CurrentControlSet\Control\Windows Containers`:                   {},
		`HKLM\SYSTEM\CurrentControlSet\Services\LanmanServer\Parameters`:             {},
		`HKLM\SYSTEM\CurrentControlSet\Services\LanmanWorkstation`:                   {},
		`HKLM\SYSTEM\CurrentControlSet\Control\SecurityProviders\SCHANNEL\Protocols`: {},
		`HKCU\Environment`: {},
	} {
		addParents(keys, path)
		k := keys[strings.ToLower(path)]
		k.Values = values
		keys[strings.ToLower(path)] = k
	}
	return keys
}
