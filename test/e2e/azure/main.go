// Command azure takes the smallest mixed cluster through its life in an Azure
// subscription that the environment names: created, scaled, upgraded, deleted, with a
// recorder between casement and Azure. The run costs money, so it has a budget of hours
// and machines, and all that it makes is in one resource group, which is deleted in the
// end whatever happens. With -rehearse a local Azure replaces the real one.
//
// It runs the built binaries as a user would and knows nothing of their inside. It is
// no part of the product: `make e2e-azure` runs it by hand.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	casement := flag.String("casement", "bin/casement", "the program to try")
	file := flag.String("file", "bin/azure.yaml", "the recording to write; one of before is replaced")
	rehearsal := flag.Bool("rehearse", false, "let a local Azure replace the real one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *rehearsal {
		err = rehearse(ctx, *casement, *file)
	} else {
		err = try(ctx, *casement, *file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-azure:", err)
		os.Exit(1)
	}
}

// sweepTimeout bounds the deletion of the resource group in the end. Azure needs as much as
// a quarter of an hour for one with machines.
const sweepTimeout = 45 * time.Minute

// try creates, changes and deletes a cluster within the budget, and deletes whatever
// remains.
func try(ctx context.Context, casement, file string) error {
	s, err := fromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	group, err := openGroup(s)
	if err != nil {
		return err
	}
	fmt.Printf("Azure at %s, subscription %s, %s: resource group %s, at most %d machines, %s\n", s.endpoint,
		s.subscription, s.location, s.name, s.machines, s.hours)
	bounded, cancel := context.WithTimeoutCause(ctx, s.hours, fmt.Errorf("the budget of %s is over", s.hours))
	defer cancel()
	bounded, over := context.WithCancelCause(bounded)
	defer over(nil)
	watched := make(chan int, 1)
	go func() { watched <- group.watch(bounded, s.machines, over) }()

	err = live(bounded, s, casement, file)
	if cause := context.Cause(bounded); cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	over(nil)
	fmt.Printf("at most %d machines were there at once\n", <-watched)

	last, end := context.WithTimeout(context.WithoutCancel(ctx), sweepTimeout)
	defer end()
	left, swept := group.delete(last)
	switch {
	case swept != nil:
		return errors.Join(err, fmt.Errorf("DELETE THE RESOURCE GROUP %s BY HAND, it costs money: %w", s.name, swept))
	case left && err == nil:
		return fmt.Errorf("the cluster was deleted and its resource group was left; it is deleted now")
	}
	fmt.Println("nothing is left: the resource group", s.name, "is gone")
	return err
}
