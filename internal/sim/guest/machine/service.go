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

// Actions that a service hook is called with.
const (
	Started Action = "start"
	Stopped Action = "stop"
)

// The start types of a service. Linux knows the first and the last.
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
)

// Service is one row of the service table.
type Service struct {
	Name    string `json:"name"`
	Display string `json:"display,omitempty"`
	Running bool   `json:"-"`
	// Start is Automatic, Manual or Disabled.
	Start string `json:"start"`
	// Path is the command line that the service runs, as the image has it.
	Path string `json:"path,omitempty"`
	// Settings are the parameters that nssm has set, by name.
	Settings map[string]string `json:"settings,omitempty"`
}

// Services is a guest's service table. It is safe for use from several
// goroutines; the hook is called outside of its lock.
type Services struct {
	mu     sync.Mutex
	folder guestfs.Folder
	byID   map[string]*Service
	hook   func(name string, action Action)
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

// key folds the spellings of a service's name: case and systemd's suffix.
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

// Start starts a service. Starting what runs does nothing.
func (s *Services) Start(name string) error { return s.run(name, true) }

// Stop stops a service. Stopping what does not run does nothing.
func (s *Services) Stop(name string) error { return s.run(name, false) }

// Restart stops a service if it runs, and starts it.
func (s *Services) Restart(name string) error {
	if err := s.Stop(name); err != nil {
		return err
	}
	return s.Start(name)
}

func (s *Services) run(name string, running bool) error {
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

// Edit changes one row and keeps it.
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

// StartAutomatic starts what starts with the machine.
func (s *Services) StartAutomatic() {
	for _, row := range s.List() {
		if row.Start == Automatic {
			_ = s.Start(row.Name) // it exists and is not disabled
		}
	}
}

// StopAll stops everything, as a shutdown does.
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
