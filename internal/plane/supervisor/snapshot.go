package supervisor

import (
	"context"
	"encoding/json"
	"time"

	"casement.dev/casement/internal/plane"
)

// snapshotPeriod is the interval at which a plane writes its status to a file, for commands that get no response. A
// change of phase or step is written immediately.
const snapshotPeriod = 15 * time.Second

// writeSnapshot writes a status to the file. An error, such as a full disk, does not end the plane.
func (s *supervisor) writeSnapshot(status plane.Status) {
	status.Written = time.Now()
	data, err := json.Marshal(status)
	if err == nil {
		err = plane.ReplaceFile(s.opts.Dir.Snapshot(), data)
	}
	if err != nil {
		s.log.Error(err, "the status was not written down")
	}
}

// keepSnapshot writes the status periodically until ctx ends.
func (s *supervisor) keepSnapshot(ctx context.Context) {
	tick := time.NewTicker(snapshotPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.writeSnapshot(s.status())
		}
	}
}
