// Package plane is the client side of a local plane: its state directory, whether it runs, its status on the control
// socket, starting and ending it, and clients of its local Azure. It does not link package supervisor, which runs the
// plane, so that the client program can be built for every system. Only internal/cli, internal/mcp,
// internal/plane/supervisor and tests may import it.
package plane

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"casement.dev/casement/internal/private"
)

// Dir is the state directory of a local plane. All files of the plane are below it.
type Dir string

// DefaultDir returns $CASEMENT_HOME, otherwise the directory casement in the user's state directory (XDG_STATE_HOME, by
// default ~/.local/state).
func DefaultDir() (Dir, error) {
	if d := os.Getenv("CASEMENT_HOME"); d != "" {
		abs, err := filepath.Abs(d)
		if err != nil {
			return "", fmt.Errorf("CASEMENT_HOME=%s: %w", d, err)
		}
		return Dir(abs), nil
	}
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return Dir(filepath.Join(d, "casement")), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the state: %w; set CASEMENT_HOME", err)
	}
	return Dir(filepath.Join(home, ".local", "state", "casement")), nil
}

// Path joins elements below the directory.
func (d Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// Kubeconfig returns the file with the admin kubeconfig of the management API server.
func (d Dir) Kubeconfig() string { return d.Path("kubeconfig") }

// Socket returns the path of the running plane's control socket.
func (d Dir) Socket() string { return d.Path("control.sock") }

// Log returns the path of the plane's own log.
func (d Dir) Log() string { return d.Path("casement.log") }

// OpenLog opens the log for appending.
func (d Dir) OpenLog() (*os.File, error) {
	f, err := private.OpenFile(d.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the plane's log: %w", err)
	}
	return f, nil
}

// BareMark is the name of the file that marks the state directory of a bare plane and records which Azure the plane uses.
const BareMark = "bare"

// OutsideMark is the name of the file that marks the state directory of a plane whose clusters are in another Azure; it
// contains the subscription.
const OutsideMark = "outside"

// stateVersion is the version of the state directory's layout. Version 1 had no markFile.
const stateVersion = 2

// markFile is the name of the file that marks a directory as a plane's and contains its version.
const markFile = "plane.json"

// mark is the content of markFile.
type mark struct {
	// Casement is a text that explains the file to users.
	Casement string `json:"casement"`
	Version  int    `json:"version"`
}

// ownNames are patterns of the names that a plane creates at the top level of its directory.
var ownNames = []string{
	markFile, markFile + ".*", "lock", "control.sock", "casement.log", "casement.log.*", "status.json",
	"status.json.*", "kubeconfig", BareMark, OutsideMark, "client-secret",
	"management", "azure", "azure.*", "domains.json", "domains.json.*", "gateway", "gateway.*", "egress", "volumes", "fabric", "crashes",
	"vms", "pods", "webhook", "helm", "rdp",
	"processes", "id_ed25519", "id_ed25519.pub", "known_hosts", "*.damaged",
}

// early are the names that may exist before markFile, when two planes start at the same time.
var early = []string{markFile + ".*", "lock", "casement.log"}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := filepath.Match(p, name)
		return err == nil && ok
	})
}

// entries lists the directory; a missing directory is empty.
func (d Dir) entries() (names []string, err error) {
	list, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the state directory: %w", err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, nil
}

// version returns the directory's layout version: 0 for an empty directory, or an error if it is not a plane's.
func (d Dir) version() (int, error) {
	data, err := private.ReadFile(d.Path(markFile))
	if err == nil {
		var m mark
		if err := json.Unmarshal(data, &m); err != nil || m.Version < 1 {
			return 0, fmt.Errorf("%s is damaged: it holds %.40q and no version; when the directory is a "+
				"plane's, write {\"version\": %d} to it", d.Path(markFile), data, stateVersion)
		}
		return m.Version, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("read the mark of the state directory: %w", err)
	}
	names, err := d.entries()
	if err != nil {
		return 0, err
	}
	if slices.Contains(names, markFile) {
		return d.version() // another plane has just written markFile
	}
	if !slices.ContainsFunc(names, func(n string) bool { return !matches(early, n) }) {
		return 0, nil
	}
	// A directory of version 1 has a lock and the files that every plane creates at its start.
	has := func(name string) bool { return slices.Contains(names, name) }
	if has("lock") && (has("azure") && has("egress") || has(BareMark) && has("management")) {
		return 1, nil
	}
	return 0, d.notOurs(names)
}

func (d Dir) notOurs(names []string) error {
	return fmt.Errorf("%s is not a plane's state: it has no %s and holds %s", d, markFile, Listed(names))
}

// Listed returns names for a message, shortened.
func Listed(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Check returns an error for a directory that other users can access or replace. It returns nil if the directory does not exist.
func (d Dir) Check() error { return unsafe(private.Existing(string(d))) }

func unsafe(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state directory: %w; or name another directory with --state or CASEMENT_HOME", err)
}

// Make creates the plane's directory, which only its owner can read because it contains keys, or upgrades the directory
// of an earlier version. It refuses a directory that other users could replace, a directory with other content, and the
// directory of a later version.
func (d Dir) Make() error {
	if err := unsafe(private.Dir(string(d))); err != nil {
		return err
	}
	// The path of a unix socket may have at most 107 bytes (sun_path, unix(7)).
	if n := len(d.Path("egress", "0123456789abcdef.sock")); n > 107 {
		return fmt.Errorf("state directory %s: the path is %d bytes too long for unix sockets below it; set "+
			"CASEMENT_HOME to a shorter one", d, n-107)
	}
	version, err := d.version()
	switch {
	case err != nil:
		return fmt.Errorf("%w; name an empty or new directory with --state or CASEMENT_HOME", err)
	case version == stateVersion:
		return nil
	case version > stateVersion:
		return d.tooNew(version)
	}
	// The upgrade from versions 0 and 1 only adds the mark.
	data, err := json.Marshal(mark{"state of a local plane; casement down --purge deletes it", stateVersion})
	if err != nil {
		return err
	}
	if err := ReplaceFile(d.Path(markFile), append(data, '\n')); err != nil {
		return fmt.Errorf("mark the state directory: %w", err)
	}
	return nil
}

func (d Dir) tooNew(version int) error {
	return fmt.Errorf("%s is of state version %d, which a later casement made; this one knows up to %d: use "+
		"that casement, or another directory with --state", d, version, stateVersion)
}

// purge deletes the files that a plane created. It keeps other files, and returns their names.
func (d Dir) purge() (foreign []string, err error) {
	names, err := d.entries()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	version, err := d.version()
	switch {
	case err != nil:
		return nil, fmt.Errorf("nothing was deleted: %w", err)
	case version > stateVersion:
		return nil, fmt.Errorf("nothing was deleted: %w", d.tooNew(version))
	case version == 0:
		return nil, fmt.Errorf("nothing was deleted: %w", d.notOurs(names))
	case version == 1:
		return nil, fmt.Errorf("nothing was deleted: %s looks like the state of an earlier casement, and has no "+
			"%s to prove it: 'casement up' adds it", d, markFile)
	}
	for _, name := range names {
		if !matches(ownNames, name) {
			foreign = append(foreign, name)
		} else if name != markFile {
			err = errors.Join(err, os.RemoveAll(d.Path(name)))
		}
	}
	if err != nil || len(foreign) > 0 {
		return foreign, err
	}
	// markFile is deleted last, so that an interrupted purge can be continued.
	if err := os.Remove(d.Path(markFile)); err != nil {
		return nil, ignoreNotExist(err)
	}
	return nil, ignoreNotExist(os.Remove(string(d)))
}

// ReplaceFile replaces a file atomically.
func ReplaceFile(file string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the earlier error is more informative
	}
	return err
}

func ignoreNotExist(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
