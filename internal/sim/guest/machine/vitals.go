package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"casement.dev/casement/internal/guestfs"
)

// Vitals are health values that a guest's OS reports besides files and services. The zero
// value is an unhealthy machine; an image boots with Healthy.
type Vitals struct {
	// Free is the share of the OS disk that is left, from 0 to 1.
	Free float64 `json:"free"`
	// Committed reports whether programs have committed all memory of the machine except less than the
	// kubelet reserves.
	Committed bool `json:"committed,omitempty"`
	// UnusedImages is the share of the OS disk that images have which no container uses.
	UnusedImages float64 `json:"unusedImages,omitempty"`
	// HungShim reports whether the shim of a pod that ends hangs, so that the pod stays.
	HungShim bool `json:"hungShim,omitempty"`
	// StaleEndpoints counts HNS endpoints that crashed pods have left.
	StaleEndpoints int `json:"staleEndpoints"`
	// MTU is the MTU of the network adapter, in bytes.
	MTU int `json:"mtu"`
	// DynamicPorts is how many ports outbound connections may use, Connections how
	// many do.
	DynamicPorts int `json:"dynamicPorts"`
	Connections  int `json:"connections"`
	// Metadata reports whether 169.254.169.254 answers.
	Metadata bool `json:"metadata"`
	// Network reports whether anything outside of the machine answers.
	Network bool `json:"network"`
	// PauseImage reports whether the runtime's sandbox image runs on the host's build.
	PauseImage bool `json:"pauseImage"`
	// PodNetwork reports whether packets of pods leave the machine.
	PodNetwork bool `json:"podNetwork"`
	// ManagementIP reports whether the HNS networks have the machine's address.
	ManagementIP bool `json:"managementIP"`
	// Waiting are the connections that have no answer, each ADDRESS:PORT.
	Waiting []string `json:"waiting,omitempty"`
}

// Healthy returns the vitals of a healthy machine. The port range is the default of Windows, 49152 to
// 65535.
func Healthy() Vitals {
	return Vitals{Free: 100.0 / 127, MTU: 1500, DynamicPorts: 16384, Connections: 120, Metadata: true,
		Network: true, PauseImage: true, PodNetwork: true, ManagementIP: true}
}

// Pulse keeps a guest's vitals over restarts of its host. It is safe for use from
// several goroutines.
type Pulse struct {
	mu     sync.Mutex
	folder guestfs.Folder
	vitals Vitals
}

// vitalsFile keeps the vitals, beside the file tree.
const vitalsFile = "vitals.json"

func loadPulse(folder guestfs.Folder) (*Pulse, error) {
	p := &Pulse{folder: folder, vitals: Healthy()}
	data, err := folder.ReadFile(vitalsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &p.vitals)
	}
	if err != nil {
		return nil, fmt.Errorf("read the guest's vitals %s: %w", vitalsFile, err)
	}
	return p, nil
}

// Get returns the vitals as they are.
func (p *Pulse) Get() Vitals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.vitals
}

// Edit changes the vitals and keeps them.
func (p *Pulse) Edit(edit func(*Vitals)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	edit(&p.vitals)
	data, err := json.Marshal(p.vitals)
	if err == nil {
		err = p.folder.WriteFile(vitalsFile, data)
	}
	if err != nil {
		return fmt.Errorf("keep the guest's vitals: %w", err)
	}
	return nil
}
