package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"casement.dev/casement/internal/guestfs"
)

// Vitals are health values of a guest's OS, in addition to files and services. The zero value is an unhealthy
// machine; an image boots with Healthy.
type Vitals struct {
	// Free is the free share of the OS disk, from 0 to 1.
	Free float64 `json:"free"`
	// Committed is set if programs have committed so much memory that less is left than the kubelet reserves.
	Committed bool `json:"committed,omitempty"`
	// UnusedImages is the share of the OS disk that images without a container use.
	UnusedImages float64 `json:"unusedImages,omitempty"`
	// HungShim is set if the shim of a pod that ends hangs, so that the pod stays.
	HungShim bool `json:"hungShim,omitempty"`
	// StaleEndpoints is the number of HNS endpoints that crashed pods have left.
	StaleEndpoints int `json:"staleEndpoints"`
	// MTU is the MTU of the network adapter, in bytes.
	MTU int `json:"mtu"`
	// DynamicPorts is the number of ports for outbound connections, and Connections the number in use.
	DynamicPorts int `json:"dynamicPorts"`
	Connections  int `json:"connections"`
	// Metadata is set if 169.254.169.254 answers.
	Metadata bool `json:"metadata"`
	// Network is set if addresses outside of the machine answer.
	Network bool `json:"network"`
	// PauseImage is set if the runtime's sandbox image runs on the host's build.
	PauseImage bool `json:"pauseImage"`
	// PodNetwork is set if packets of pods leave the machine.
	PodNetwork bool `json:"podNetwork"`
	// ManagementIP is set if the HNS networks have the machine's address.
	ManagementIP bool `json:"managementIP"`
	// Waiting are the connections that get no answer, each as ADDRESS:PORT.
	Waiting []string `json:"waiting,omitempty"`
}

// Healthy returns the vitals of a healthy machine. The port range is the default of Windows, 49152 to
// 65535.
func Healthy() Vitals {
	return Vitals{Free: 100.0 / 127, MTU: 1500, DynamicPorts: 16384, Connections: 120, Metadata: true,
		Network: true, PauseImage: true, PodNetwork: true, ManagementIP: true}
}

// Pulse stores a guest's vitals, which survive restarts of its host. It is safe for use from several goroutines.
type Pulse struct {
	mu     sync.Mutex
	folder guestfs.Folder
	vitals Vitals
}

// vitalsFile stores the vitals, beside the file tree.
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

// Get returns the current vitals.
func (p *Pulse) Get() Vitals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.vitals
}

// Edit changes the vitals and stores them.
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
