package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Snapshot returns the file with the last status that a plane wrote.
func (d Dir) Snapshot() string { return d.Path("status.json") }

func (d Dir) readSnapshot() (Status, error) {
	var s Status
	data, err := os.ReadFile(d.Snapshot())
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return Status{}, fmt.Errorf("%s is damaged: %w", d.Snapshot(), err)
	}
	return s, nil
}

// StatusOf returns the status of the plane in dir. If the plane is running but does not respond within a few seconds,
// it returns the last status that the plane wrote, with NoAnswer set.
func StatusOf(ctx context.Context, dir Dir) (Status, error) {
	s, err := NewClient(dir).Status(ctx)
	if err == nil || ctx.Err() != nil || !errors.Is(err, ErrNoAnswer) {
		return s, err
	}
	s, damaged := dir.readSnapshot()
	if damaged != nil && !errors.Is(damaged, os.ErrNotExist) {
		s.Notices = append(s.Notices, damaged.Error())
	}
	s.NoAnswer = err.Error()
	if pid, err := dir.holderPID(); err == nil {
		s.PID = pid
	} else {
		s.Notices = append(s.Notices, err.Error())
	}
	return s, nil
}
