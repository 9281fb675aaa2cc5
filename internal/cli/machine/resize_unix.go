//go:build unix

package machine

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"casement.dev/casement/internal/sshroute"
)

// watchSize sends the new sizes of the terminal until forget is called.
func watchSize(f *os.File) (sizes <-chan sshroute.Size, forget func()) {
	signals, done, out := make(chan os.Signal, 1), make(chan struct{}), make(chan sshroute.Size)
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-signals:
			case <-done:
				return
			}
			width, height, err := term.GetSize(int(f.Fd()))
			if err != nil {
				continue // the size is read again at the next change
			}
			select {
			case out <- sshroute.Size{Width: width, Height: height}:
			case <-done:
				return
			}
		}
	}()
	return out, func() { signal.Stop(signals); close(done) }
}
