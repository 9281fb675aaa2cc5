// Command casement is the program for users: it runs the local plane, fills templates and
// shows the state of clusters. It is also kubectl-casement.
package main

import (
	"os"

	"casement.dev/casement/internal/cli"
	"casement.dev/casement/internal/cli/app"
)

func main() {
	os.Exit(cli.Main(os.Args, app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
