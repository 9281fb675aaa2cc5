package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"casement.dev/casement/internal/guestfs"
)

// Journal is the record of a guest's agent, stored beside its file tree: the semaphores of cloud-init, the plugin
// states of cloudbase-init. It belongs to one instance ID, and another instance starts with an empty one.
type Journal struct {
	mu     sync.Mutex
	folder guestfs.Folder
	data   journalData
}

type journalData struct {
	Instance string `json:"instance"`
	// Done has the steps that do not run again.
	Done map[string]bool `json:"done,omitempty"`
	// Finished is set if the agent has ended, with or without success.
	Finished bool `json:"finished"`
	// Complete means that all steps are done; it is set when a damaged journal is replaced.
	Complete bool `json:"complete,omitempty"`
	// Damage is the reason why the journal could not be read. The steps that are done are then unknown.
	Damage string `json:"damage,omitempty"`
	// Boots is the number of boots.
	Boots int `json:"boots"`
	// Provisioned, ExitCode and Message survive a restart of the host.
	Provisioned string `json:"provisioned,omitempty"`
	ExitCode    int    `json:"exitCode,omitempty"`
	Message     string `json:"message,omitempty"`
}

// The files beside the file tree: journalFile is the journal, and endedFile marks that the first boot has ended.
const (
	journalFile = "journal.json"
	endedFile   = "boot-ended"
)

// Booted reports whether the first boot of the guest in a machine's directory has ended.
func Booted(dir string) bool { return guestfs.At(dir).Exists(endedFile) }

// openJournal reads the journal in a guest's folder. If the last boot of the instance did not end, the simulating
// process died, not the VM: the files of that boot are removed, so that the boot is replayed from the start. The same
// happens if a loss of power has left a part of the journal and no boot had ended.
func openJournal(folder guestfs.Folder, instance string) (*Journal, error) {
	j := &Journal{folder: folder, data: journalData{Instance: instance, Done: map[string]bool{}}}
	raw, err := folder.ReadFile(journalFile)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the guest's journal: %w", err)
	}
	var old journalData
	torn := json.Unmarshal(raw, &old) != nil || old.Instance == ""
	if torn && (folder.Exists(endedFile) || j.succeeded()) {
		return j, j.recover()
	}
	if !torn && old.Instance == instance && old.Finished {
		if old.Done == nil {
			old.Done = map[string]bool{}
		}
		j.data = old
		return j, nil
	}
	for _, name := range []string{"rootfs", "C", "D", servicesFile, vitalsFile, hostnameFile, endedFile, journalFile} {
		if err := folder.RemoveAll(name); err != nil {
			return nil, fmt.Errorf("clear a guest whose boot did not end: %w", err)
		}
	}
	return j, nil
}

// recover replaces a journal that cannot be read, and renames the damaged file. The guest's disk shows whether its
// bootstrap succeeded. If it did not, the completed steps are unknown, and the bootstrap is not repeated on a disk
// that may be in use.
func (j *Journal) recover() error {
	const aside = journalFile + ".damaged"
	if err := j.folder.Rename(journalFile, aside); err != nil {
		return fmt.Errorf("keep the guest's damaged journal aside: %w", err)
	}
	if j.succeeded() {
		j.data.Complete = true
		return j.Finish(provisionedReady, 0, "")
	}
	j.data.Damage = fmt.Sprintf("the guest's state %s is damaged and was kept as %s, and there is no sign that "+
		"its bootstrap had succeeded; delete the VM, or reimage it", filepath.Join(j.folder.Name(), journalFile), aside)
	j.data.Complete = true
	return j.Finish(provisionedFailed, 1, j.data.Damage)
}

// succeeded reports whether kubeadm's success file is on the disk.
func (j *Journal) succeeded() bool {
	return slices.ContainsFunc([]string{"rootfs", "C"}, func(root string) bool { return j.folder.Exists(root + Sentinel) })
}

// The provisioning states in a journal that was replaced.
const (
	provisionedReady  = "ready"
	provisionedFailed = "failed"
)

// Damage returns why the journal could not be read, or "".
func (j *Journal) Damage() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.data.Damage
}

// Done reports whether a step needs no run.
func (j *Journal) Done(step string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.data.Complete || j.data.Done[step]
}

// Mark records that a step is done.
func (j *Journal) Mark(step string) error {
	return j.update(func(d *journalData) { d.Done[step] = true })
}

// Begin counts a boot.
func (j *Journal) Begin() error {
	return j.update(func(d *journalData) { d.Boots++ })
}

// Finish records how the agent ended.
func (j *Journal) Finish(provisioned string, exitCode int, message string) error {
	err := j.update(func(d *journalData) {
		d.Finished, d.Provisioned, d.ExitCode, d.Message = true, provisioned, exitCode, message
	})
	if err != nil || j.folder.Exists(endedFile) {
		return err
	}
	return j.folder.Keep(endedFile, nil)
}

// Finished returns the result of an agent that has ended; ok is false if none has.
func (j *Journal) Finished() (provisioned string, exitCode int, message string, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.data.Provisioned, j.data.ExitCode, j.data.Message, j.data.Finished
}

func (j *Journal) update(edit func(*journalData)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	edit(&j.data)
	raw, err := json.Marshal(j.data)
	if err != nil {
		return err
	}
	write := j.folder.WriteFile
	if j.data.Finished { // before that, a loss only repeats the boot
		write = j.folder.Keep
	}
	if err := write(journalFile, raw); err != nil {
		return fmt.Errorf("keep the guest's journal: %w", err)
	}
	return nil
}
