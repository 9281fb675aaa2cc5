// Command casement is the user's tool: the local plane, templates, and what one
// needs to see of clusters. It is also kubectl-casement.
package main

import (
	"os"

	"casement.dev/casement/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
