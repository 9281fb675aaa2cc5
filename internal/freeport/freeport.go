// Package freeport chooses ports for servers that need a port number instead of a listener: processes, and webhook
// servers of controller-runtime.
//
// It does not store ports: a caller that needs the same port again has to store it. Any package that starts such a
// server may import it.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range is below the ports that Linux uses for outgoing connections (net.ipv4.ip_local_port_range, from 32768),
// which could take a port between its choice and its use, and below NodePorts.
const (
	first = 20000
	count = 10000
	tries = 100
)

// Choose returns n different TCP ports on which nothing on host listens. It keeps each port open until all
// are chosen. Another program may choose the same port before the caller uses it, so a caller whose server
// cannot listen chooses again.
func Choose(host string, n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		l, port, err := listen(host)
		if err != nil {
			return nil, fmt.Errorf("find a free port of %s: %w", host, err)
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports, nil
}

func listen(host string) (net.Listener, int, error) {
	var taken error
	for range tries {
		port := first + rand.IntN(count)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return l, port, nil
		}
		taken = err
	}
	return nil, 0, taken
}
