package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"casement.dev/casement/internal/guestfs"
)

// Action is a change of a service's state.
type Action string

// The actions that a service hook is called with.
const (
	Started Action = "start"
	Stopped Action = "stop"
)

// The start types of a service. Linux has only Automatic and Disabled.
const (
	Automatic = "Automatic"
	Manual    = "Manual"
	Disabled  = "Disabled"
)

var (
	// ErrNoService is returned for a service that does not exist.
	ErrNoService = errors.New("the specified service does not exist as an installed service")
	// ErrServiceDisabled is returned when a disabled service is started.
	ErrServiceDisabled = errors.New("the service cannot be started, because it is disabled")
	// ErrNoBinary is returned if a service is started whose program does not exist.
	ErrNoBinary = errors.New("the system cannot find the file specified")
	// ErrDependency is returned if a service is started that depends on a missing service.
	ErrDependency = errors.New("the dependency service does not exist or has been marked for deletion")
)

// Service is one row of the service table.
type Service struct {
	Name    string `json:"name"`
	Display string `json:"display,omitempty"`
	Running bool   `json:"-"`
	// Start is Automatic, Manual or Disabled.
	Start string `json:"start"`
	// Triggered services start together with a container runtime although their start type is Manual: the runtime
	// triggers the networking and compute services of the host.
	Triggered bool `json:"triggered,omitempty"`
	// Path is the command line of the service, as the image has it.
	Path string `json:"path,omitempty"`
	// Settings are the parameters that nssm has set, by name.
	Settings map[string]string `json:"settings,omitempty"`
	// Recovery is the reaction of the service control manager to a process that ends by itself.
	Recovery Recovery `json:"recovery,omitzero"`

	failures int
}

// Recovery has the actions after the failures of a service, in order; the last action is repeated for all
// later failures.
// Source: learn.microsoft.com/windows-server/administration/windows-commands/sc-failure.
type Recovery struct {
	Reset         int              `json:"reset,omitempty"` // seconds without a failure after which the count of failures restarts
	Reboot        string           `json:"reboot,omitempty"`
	Command       string           `json:"command,omitempty"`
	Actions       []RecoveryAction `json:"actions,omitempty"`
	NonCrashFails bool             `json:"nonCrashFails,omitempty"`
}

// RecoveryAction is one action: restart, run, reboot, or "" for none, after a delay.
type RecoveryAction struct {
	Kind  string `json:"kind"`
	Delay int    `json:"delay"` // milliseconds
}

// restarting is the recovery that node images set for their services.
var restarting = Recovery{Reset: 86400, Actions: []RecoveryAction{{"restart", 5000}}}

// DependsOn returns the services that a service needs.
func (s Service) DependsOn() []string {
	return strings.FieldsFunc(s.Settings["DependOnService"], func(r rune) bool { return r == '/' || r == ' ' || r == ',' })
}

// Program returns the program of the service's command line: the part in quotes, or the part up to its extension.
func (s Service) Program() string {
	line := strings.TrimSpace(s.Path)
	if rest, quoted := strings.CutPrefix(line, `"`); quoted {
		program, _, _ := strings.Cut(rest, `"`)
		return program
	}
	if i := strings.Index(strings.ToLower(line), ".exe"); i >= 0 {
		return line[:i+len(".exe")]
	}
	program, _, _ := strings.Cut(line, " ")
	return program
}

// restarts reports whether the process is started again after its n-th failure: by the service control manager, or by
// nssm, which does so unless AppExit says otherwise.
func (s Service) restarts(n int) bool {
	if strings.HasSuffix(strings.ToLower(s.Program()), "nssm.exe") {
		exit := strings.ToLower(s.Settings["AppExit"])
		return !strings.Contains(exit, "exit") && !strings.Contains(exit, "ignore")
	}
	if len(s.Recovery.Actions) == 0 {
		return false
	}
	return s.Recovery.Actions[min(n, len(s.Recovery.Actions))-1].Kind == "restart"
}

// Services is a guest's service table. It is safe for use from several goroutines; the hook is called without its
// lock.
type Services struct {
	mu     sync.Mutex
	folder guestfs.Folder
	byID   map[string]*Service
	hook   func(name string, action Action)
	// lacks reports whether a service's program is missing; if it is nil, all programs exist.
	lacks func(program string) bool
}

func loadServices(folder guestfs.Folder, image []Service, hook func(string, Action)) (*Services, error) {
	s := &Services{folder: folder, byID: map[string]*Service{}, hook: hook}
	if s.hook == nil {
		s.hook = func(string, Action) {}
	}
	rows := image
	data, err := folder.ReadFile(servicesFile)
	switch {
	case err == nil:
		rows = nil
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, fmt.Errorf("read the guest's service table %s: %w", servicesFile, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	for _, row := range rows {
		s.byID[key(row.Name)] = &row
	}
	return s, nil
}

// key returns the table's key for a service name: in lower case and without systemd's suffix.
func key(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".service") }

// List returns copies of all rows, by name.
func (s *Services) List() []Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []Service
	for _, k := range slices.Sorted(maps.Keys(s.byID)) {
		rows = append(rows, *s.byID[k])
	}
	return rows
}

// Get returns a copy of one row.
func (s *Services) Get(name string) (Service, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.byID[key(name)]
	if !ok {
		return Service{}, false
	}
	return *row, true
}

// runtimes are the container runtimes, which start the triggered services.
var runtimes = []string{"containerd", "docker"}

// Start starts a service; it does nothing if the service runs.
func (s *Services) Start(name string) error {
	if err := s.run(name, true, nil); err != nil || !slices.Contains(runtimes, key(name)) {
		return err
	}
	for _, row := range s.List() {
		if row.Triggered && row.Start == Manual {
			if err := s.run(row.Name, true, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stop stops a service; it does nothing if the service does not run.
func (s *Services) Stop(name string) error { return s.run(name, false, nil) }

// Restart stops a service if it runs, and starts it.
func (s *Services) Restart(name string) error {
	if err := s.Stop(name); err != nil {
		return err
	}
	return s.Start(name)
}

// mostDependencies bounds a chain of services that start because the next one needs them.
const mostDependencies = 32

// Dependents returns the running services that need the named service.
func (s *Services) Dependents(name string) []string {
	var names []string
	for _, row := range s.List() {
		if row.Running && slices.ContainsFunc(row.DependsOn(), func(n string) bool { return key(n) == key(name) }) {
			names = append(names, row.Name)
		}
	}
	return names
}

// Kill ends the process of a running service, which counts as a failure: the service is started again if its recovery
// says so. The delay of the action is skipped, as other waits of guests are.
func (s *Services) Kill(name string) error {
	row, ok := s.Get(name)
	if !ok || !row.Running {
		return s.Stop(name)
	}
	if err := s.Stop(name); err != nil {
		return err
	}
	n := 0
	s.mu.Lock()
	if row, ok := s.byID[key(name)]; ok {
		row.failures++
		n = row.failures
	}
	s.mu.Unlock()
	if !row.restarts(n) {
		return nil
	}
	return s.Start(name)
}

// run starts or stops a service. Before a start, it starts the services that this one depends on. within is the chain of
// services for which this one is being started; a chain that is too long has a circular dependency.
func (s *Services) run(name string, running bool, within []string) error {
	s.mu.Lock()
	row, ok := s.byID[key(name)]
	if !ok {
		s.mu.Unlock()
		return fmt.Errorf("service %s: %w", name, ErrNoService)
	}
	if running && row.Start == Disabled {
		s.mu.Unlock()
		return fmt.Errorf("service %s: %w", name, ErrServiceDisabled)
	}
	if running && !row.Running {
		if s.lacks != nil && row.Path != "" && s.lacks(row.Program()) {
			s.mu.Unlock()
			return fmt.Errorf("service %s: %s: %w", name, row.Program(), ErrNoBinary)
		}
		for _, needed := range row.DependsOn() {
			if other := s.byID[key(needed)]; other == nil || other == row {
				s.mu.Unlock()
				return fmt.Errorf("service %s depends on %s: %w", name, needed, ErrDependency)
			}
		}
		if len(within) > mostDependencies {
			s.mu.Unlock()
			return fmt.Errorf("service %s: a circular dependency was found", name)
		}
		s.mu.Unlock()
		for _, needed := range row.DependsOn() {
			if err := s.run(needed, true, append(within, key(name))); err != nil {
				return err
			}
		}
		s.mu.Lock()
		if row, ok = s.byID[key(name)]; !ok { // it was deleted in the meantime
			s.mu.Unlock()
			return fmt.Errorf("service %s: %w", name, ErrNoService)
		}
	}
	changed := row.Running != running
	row.Running = running
	id := row.Name
	s.mu.Unlock()
	if changed {
		action := Stopped
		if running {
			action = Started
		}
		s.hook(id, action)
	}
	return nil
}

// Edit changes one row and stores the table.
func (s *Services) Edit(name string, edit func(*Service)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.byID[key(name)]
	if !ok {
		return fmt.Errorf("service %s: %w", name, ErrNoService)
	}
	edit(row)
	return s.save()
}

// Create adds a row that must not exist.
func (s *Services) Create(row Service) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.byID[key(row.Name)]; ok {
		return fmt.Errorf("service %s: the specified service already exists", row.Name)
	}
	s.byID[key(row.Name)] = &row
	return s.save()
}

// Delete stops a service and removes its row.
func (s *Services) Delete(name string) error {
	if err := s.Stop(name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, key(name))
	return s.save()
}

// StartAutomatic starts the services that start with the machine.
func (s *Services) StartAutomatic() {
	for _, row := range s.List() {
		if row.Start == Automatic {
			_ = s.Start(row.Name) // it exists and is not disabled
		}
	}
}

// StopAll stops all services, as a shutdown does.
func (s *Services) StopAll() {
	for _, row := range slices.Backward(s.List()) {
		_ = s.Stop(row.Name) // it exists
	}
}

func (s *Services) save() error {
	var rows []Service
	for _, k := range slices.Sorted(maps.Keys(s.byID)) {
		rows = append(rows, *s.byID[k])
	}
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	if err := s.folder.WriteFile(servicesFile, data); err != nil {
		return fmt.Errorf("keep the guest's service table: %w", err)
	}
	return nil
}

// lacksProgram reports whether a program is missing. The programs of Windows itself have no files in the tree and
// count as present.
func (m *Machine) lacksProgram(program string) bool {
	low := strings.ToLower(program)
	if strings.HasPrefix(low, `c:\windows\`) || !strings.ContainsAny(program, `\/`) {
		return false
	}
	return !m.Root.Exists(program)
}
