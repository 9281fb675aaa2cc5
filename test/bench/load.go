package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
)

// loadEnv makes this program use one processor until its standard input is closed, which the end of the
// program that started it does too.
const loadEnv = "CASEMENT_BENCH_LOAD"

// spin is a process of startLoad.
func spin() {
	var ended atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the other end is closed, however
		ended.Store(true)
	}()
	for !ended.Load() { // to use the processor is all that it is for
	}
}

// startLoad starts processes that each use as much of a processor as they get, until stop is called.
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
		cmd.Env = append(os.Environ(), loadEnv+"=1", "GOMAXPROCS=2") // the second one reads
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
			_ = cmd.Wait() // it ends when its input does
		})
	}
	return stop, nil
}
