package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
)

// loadEnv makes this program use one processor until its standard input is closed, which also
// happens when the parent process ends.
const loadEnv = "CASEMENT_BENCH_LOAD"

// spin is the work of a process of startLoad.
func spin() {
	var ended atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // returns when the other end is closed, for whatever reason
		ended.Store(true)
	}()
	for !ended.Load() { // uses the processor
	}
}

// startLoad starts processes, each of which uses as much of one processor as it gets, until stop is
// called.
func startLoad(processes int) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, end := range stops {
			end()
		}
	}
	self, err := os.Executable()
	if err != nil {
		return stop, err
	}
	for range processes {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), loadEnv+"=1", "GOMAXPROCS=2") // the second processor is for the reader
		input, err := cmd.StdinPipe()
		if err != nil {
			stop()
			return func() {}, err
		}
		if err := cmd.Start(); err != nil {
			stop()
			return func() {}, fmt.Errorf("start what loads the machine: %w", err)
		}
		stops = append(stops, func() {
			input.Close()
			_ = cmd.Wait() // ends when its input ends
		})
	}
	return stop, nil
}
