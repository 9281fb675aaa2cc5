package machine

import (
	"os"

	"casement.dev/casement/internal/sshroute"
)

// watchSize reports no new sizes: a console of Windows has no signal for them. A session
// keeps the size that the window had when it began.
func watchSize(*os.File) (sizes <-chan sshroute.Size, forget func()) { return nil, func() {} }
