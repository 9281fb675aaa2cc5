package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"

	"casement.dev/casement/internal/recorder"
)

// recording is a running recorder.
type recording struct {
	*recorder.Recorder
	at     string
	stop   context.CancelFunc
	served chan error
	out    *os.File
}

// record starts a recorder of the requests to Azure, and writes the CA certificate that its clients
// must trust to the file trust.
func record(s settings, file, trust string) (*recording, error) {
	transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	r, err := recorder.New(s.endpoint, transport, out)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	var pair tls.Certificate
	pair, ca, err := recorder.Certificate("127.0.0.1")
	if err != nil {
		return nil, err
	}
	if s.ca != "" {
		more, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, err
		}
		ca = append(ca, more...)
	}
	if err := os.WriteFile(trust, ca, 0o600); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	running := &recording{Recorder: r, at: l.Addr().String(), stop: stop, served: make(chan error, 1), out: out}
	go func() { running.served <- r.Serve(ctx, l, pair) }()
	return running, nil
}

func (r *recording) close() error {
	r.stop()
	served := <-r.served
	_, wrote := r.Calls()
	return errors.Join(served, wrote, r.out.Close())
}
