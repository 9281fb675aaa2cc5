package process

import (
	"os"
	"os/signal"
	"syscall"
)

func notify(c chan<- os.Signal) { signal.Notify(c, syscall.SIGTERM) }
