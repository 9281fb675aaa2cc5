package cloudbase

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"casement.dev/casement/internal/sim/guest/userdata"
)

const cloudConfigModule = "cloudbaseinit.plugins.common.userdataplugins.cloudconfig"

type keyPlugin struct {
	key string
	run func(*agent, context.Context, any) (reboot bool, err error)
}

// keyPlugins returns the plugins of the keys in the order in which the agent runs them, whatever the order in the
// document.
func keyPlugins() []keyPlugin {
	return []keyPlugin{
		{"write_files", (*agent).writeFiles},
		{"set_timezone", (*agent).timezone},
		{"timezone", (*agent).timezone},
		{"set_hostname", (*agent).hostname},
		{"hostname", (*agent).hostname},
		{"ntp", (*agent).ntp},
		{"groups", (*agent).groups},
		{"users", (*agent).users},
		{"runcmd", (*agent).runcmd},
	}
}

// cloudConfig runs the plugins of the keys. A YAML error fails the plugin; an error of a key is logged and the next
// key runs. A reboot that any key requests comes at the end, and all of the user data runs again after it.
func (a *agent) cloudConfig(ctx context.Context, data []byte) (outcome, error) {
	v, err := userdata.Load(data)
	if err != nil {
		return outcome{}, fmt.Errorf("the cloud-config is no YAML: %w", err)
	}
	if emptyValue(v) {
		a.problemf(cloudConfigModule, "Could not process the cloud-config: it is empty")
		return outcome{}, nil
	}
	config, ok := v.(map[string]any)
	if !ok {
		return outcome{}, errors.New("the cloud-config is no mapping")
	}
	a.unknown(config)
	reboot := false
	for _, p := range keyPlugins() {
		value, ok := config[p.key]
		if !ok {
			continue
		}
		a.debugf(cloudConfigModule, "Processing plugin %s", p.key)
		again, err := p.run(a, ctx, value)
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		if err != nil {
			a.problemf(cloudConfigModule, "Processing plugin %s failed: %v", p.key, err)
		}
		reboot = reboot || again
	}
	if reboot {
		return outcomeOf(rebootAgain), nil
	}
	return outcome{}, nil
}

// unknown logs and skips keys for which the agent has no plugin.
func (a *agent) unknown(config map[string]any) {
	known := keyPlugins()
	for _, k := range slices.Sorted(maps.Keys(config)) {
		if !slices.ContainsFunc(known, func(p keyPlugin) bool { return p.key == k }) {
			a.line("ERROR", cloudConfigModule, "Plugin '%s' is currently not supported", k)
		}
	}
}

const writeFilesModule = cloudConfigModule + "plugins.write_files"

func (a *agent) writeFiles(ctx context.Context, v any) (bool, error) {
	list, ok := v.([]any)
	if !ok {
		if _, single := v.(map[string]any); !single {
			return false, fmt.Errorf("write_files is neither a list nor a mapping")
		}
		list = []any{v}
	}
	for i, entry := range list {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		item, isMap := entry.(map[string]any)
		if _, isText := entry.(string); !isMap && !isText {
			if names, isList := entry.([]any); !isList || slices.Contains(names, any("path")) && slices.Contains(names, any("content")) {
				return false, fmt.Errorf("item %d is no mapping; it and all after it are not written", i+1)
			}
		}
		_, hasPath := item["path"]
		_, hasContent := item["content"]
		if !hasPath || !hasContent {
			a.warnf(writeFilesModule, "Item %d lacks path or content and is skipped", i+1)
			continue
		}
		if err := a.writeFile(item); err != nil {
			return false, fmt.Errorf("item %d and all after it are not written: %w", i+1, err)
		}
	}
	return false, nil
}

// writeFile writes one item of write_files. An item whose directory cannot be made is skipped; a file that cannot be
// opened ends the list.
func (a *agent) writeFile(item map[string]any) error {
	root := a.m.Root
	text, isText := item["path"].(string)
	if !isText {
		return errors.New("its path is no text")
	}
	name := root.Abs(`C:\Windows\System32`, text)
	raw, isText := item["content"].(string)
	if !isText {
		return fmt.Errorf("the content of %s is no text", name)
	}
	content, known, err := userdata.DecodeSteps(raw, userdata.String(item["encoding"]))
	if errors.Is(err, io.ErrUnexpectedEOF) && userdata.IsGzip(content) {
		return fmt.Errorf("the content of %s is cut off: %w", name, err)
	}
	if err != nil {
		a.warnf(writeFilesModule, "%s: the content cannot be decoded and is written as far as it could be", name)
	}
	if !known {
		a.warnf(writeFilesModule, "%s: unknown encoding type %s, assuming plain text", name, userdata.String(item["encoding"]))
	}
	if err := root.MkdirAll(name[:max(3, strings.LastIndexByte(name, '\\'))]); err != nil {
		a.warnf(writeFilesModule, "%s: its directory cannot be made; the item is skipped: %v", name, err)
		return nil
	}
	mode, ok := userdata.Mode(item["permissions"])
	if !ok {
		a.warnf(writeFilesModule, "%s: undecodable permissions, assuming 0644", name)
	}
	write := root.WriteFile
	if !emptyValue(item["append"]) {
		write = root.AppendFile
	}
	if info, err := root.Stat(name); err == nil && info.Mode()&0o200 == 0 {
		return fmt.Errorf("open %s: Access is denied: it is read-only", name)
	}
	if err := write(name, content, 0o644); err != nil {
		return err
	}
	if mode&0o200 == 0 { // Windows uses only the read-only bit of a mode
		if err := root.Chmod(name, 0o444); err != nil {
			return err
		}
	}
	a.debugf(writeFilesModule, "Wrote %s (%d bytes)", name, len(content))
	return nil
}

// emptyValue reports whether a value is false in Python.
func emptyValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case int:
		return v == 0
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func (a *agent) hostname(_ context.Context, v any) (bool, error) {
	name := userdata.String(v)
	if name == "" {
		return false, errors.New("the host name is no string")
	}
	return a.rename(name), nil
}

func (a *agent) timezone(_ context.Context, v any) (bool, error) {
	name := userdata.String(v)
	if windowsZone(name) == "" {
		return false, fmt.Errorf("unrecognized timezone %q", name)
	}
	a.infof(cloudConfigModule+"plugins.set_timezone", "Set the timezone to %s", windowsZone(name))
	a.noEffect(cloudConfigModule+"plugins.set_timezone", "timezone")
	return false, nil
}

// windowsZone returns the Windows name of a common IANA time zone, or "".
func windowsZone(iana string) string {
	return map[string]string{
		"UTC": "UTC", "Etc/UTC": "UTC", "Etc/GMT": "UTC", "GMT": "GMT Standard Time",
		"Europe/London": "GMT Standard Time", "Europe/Berlin": "W. Europe Standard Time",
		"Europe/Paris": "Romance Standard Time", "Europe/Amsterdam": "W. Europe Standard Time",
		"Europe/Zurich": "W. Europe Standard Time", "Europe/Vienna": "W. Europe Standard Time",
		"Europe/Bucharest": "GTB Standard Time", "Europe/Warsaw": "Central European Standard Time",
		"Europe/Moscow":    "Russian Standard Time",
		"America/New_York": "Eastern Standard Time", "America/Chicago": "Central Standard Time",
		"America/Denver": "Mountain Standard Time", "America/Los_Angeles": "Pacific Standard Time",
		"America/Sao_Paulo": "E. South America Standard Time", "Asia/Kolkata": "India Standard Time",
		"Asia/Calcutta": "India Standard Time", "Asia/Shanghai": "China Standard Time",
		"Asia/Singapore": "Singapore Standard Time", "Asia/Tokyo": "Tokyo Standard Time",
		"Asia/Dubai": "Arabian Standard Time", "Australia/Sydney": "AUS Eastern Standard Time",
	}[iana]
}

func (a *agent) ntp(_ context.Context, v any) (bool, error) {
	conf, ok := v.(map[string]any)
	if !ok {
		return false, errors.New("ntp is no mapping")
	}
	if on, ok := conf["enabled"].(bool); ok && !on {
		return false, nil
	}
	peers := slices.Concat(userdata.Strings(conf["servers"]), userdata.Strings(conf["pools"]))
	a.infof(cloudConfigModule+"plugins.set_ntp", "Set the manual peer list of W32Time: %s", strings.Join(peers, " "))
	a.noEffect(cloudConfigModule+"plugins.set_ntp", "ntp")
	return false, nil
}

func (a *agent) groups(_ context.Context, v any) (bool, error) {
	const mod = cloudConfigModule + "plugins.groups"
	list, ok := v.([]any)
	if m, isMap := v.(map[string]any); isMap { // only the keys are used, as names
		for _, k := range slices.Sorted(maps.Keys(m)) {
			list = append(list, k)
		}
		ok = true
	}
	if !ok {
		return false, errors.New("groups is neither a list nor a mapping")
	}
	for _, entry := range list {
		switch e := entry.(type) {
		case string:
			a.infof(mod, "Created group %s", e)
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(e)) {
				a.infof(mod, "Created group %s", k)
			}
		}
	}
	return false, nil
}

const runcmdModule = cloudConfigModule + "plugins.runcmd"

// runcmd runs the entries as one batch file. Its exit code only decides whether a reboot is requested: 1002 has no
// effect, and no other code is an error.
func (a *agent) runcmd(ctx context.Context, v any) (bool, error) {
	script, err := batchOf(v)
	if err != nil {
		return false, err
	}
	a.debugf(runcmdModule, "Running commands from runcmd")
	code := a.batch(ctx, script)
	a.infof(runcmdModule, "Runcmd script ended with return code: %d", code)
	a.res.ExitCode = code
	return code == rebootDone || code == rebootAgain, nil
}

// batchOf returns the batch file of the entries: strings as they are, lists joined with blanks and without quotes. In
// a string in place of the list, each character is an entry, as in the agent.
func batchOf(v any) (string, error) {
	var entries []any
	switch t := v.(type) {
	case []any:
		entries = t
	case string:
		for _, r := range t {
			entries = append(entries, string(r))
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(t)) {
			entries = append(entries, k)
		}
	default:
		return "", errors.New("runcmd is no list")
	}
	var b strings.Builder
	b.WriteString("rem cmd\r\n")
	for i, entry := range entries {
		switch e := entry.(type) {
		case string:
			b.WriteString(e)
		case []any:
			words := make([]string, len(e))
			for j, w := range e {
				words[j] = userdata.PythonText(w)
			}
			b.WriteString(strings.Join(words, " "))
		default:
			return "", fmt.Errorf("runcmd entry %d is neither a string nor a list", i+1)
		}
		b.WriteString("\r\n")
	}
	return b.String(), nil
}
