package machine

import (
	"os"

	"casement.dev/casement/internal/sshroute"
)

// watchSize sends nothing, because a console of Windows has no signal for a new size. A session keeps the size of the
// window at its start.
func watchSize(*os.File) (sizes <-chan sshroute.Size, forget func()) { return nil, func() {} }
