package supervisor

import (
	"context"
	"encoding/json"
	"time"

	"casement.dev/casement/internal/plane"
)

// snapshotPeriod is how often a plane writes its status down, for when it does not
// answer; changes of its phase and steps are written at once.
const snapshotPeriod = 15 * time.Second

// writeSnapshot keeps a status. A full disk is no reason to end the plane.
func (c *supervisor) writeSnapshot(s plane.Status) {
	s.Written = time.Now()
	data, err := json.Marshal(s)
	if err == nil {
		err = plane.ReplaceFile(c.opts.Dir.Snapshot(), data)
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
