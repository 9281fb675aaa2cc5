package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// snapshotPeriod is how often a plane writes its status down, for when it does not
// answer; changes of its phase and steps are written at once.
const snapshotPeriod = 15 * time.Second

func (d Dir) snapshot() string { return d.Path("status.json") }

func (d Dir) readSnapshot() (Status, error) {
	var s Status
	data, err := os.ReadFile(d.snapshot())
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return Status{}, fmt.Errorf("%s is damaged: %w", d.snapshot(), err)
	}
	return s, nil
}

// writeSnapshot keeps a status. A full disk is no reason to end the plane.
func (c *supervisor) writeSnapshot(s Status) {
	s.Written = time.Now()
	data, err := json.Marshal(s)
	if err == nil {
		err = replaceFile(c.opts.Dir.snapshot(), data)
	}
	if err != nil {
		c.log.Error(err, "the status was not written down")
	}
}

// keepSnapshot writes the status down until ctx ends.
func (c *supervisor) keepSnapshot(ctx context.Context) {
	tick := time.NewTicker(snapshotPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.writeSnapshot(c.status())
		}
	}
}

// StatusOf returns the status of the plane in dir. For one that runs and does not answer
// within a few seconds it is the last one that was written down, with NoAnswer saying
// so.
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
	if holder, err := dir.holder(); err == nil {
		s.PID = holder.PID
	} else {
		s.Notices = append(s.Notices, err.Error())
	}
	return s, nil
}
