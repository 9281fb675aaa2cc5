// Package inside runs commands on Windows nodes over SSH: the probes of package walk, and the remedies that checks
// name. It does not interpret the output; the caller opens the connections. The command line imports it.
package inside

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/sshroute"
)

const (
	// maxNodes is the number of a cluster's Windows nodes that are probed by default.
	maxNodes = 10
	// patience is the time limit for all nodes together.
	patience = 5 * time.Second
)

// Connect connects to a machine.
type Connect func(context.Context, sshroute.Route) (*sshroute.Dialer, error)

// Observe runs the probes on Windows nodes and sets the snapshot's Inside: on the given machine's node, or, if machine
// is "", on at most maxNodes nodes, nodes that are not Ready first. A node that does not respond within patience is
// left out; the snapshot records that.
func Observe(ctx context.Context, s *facts.Snapshot, machine string, connect Connect) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.Inside = map[string]facts.Inside{}
	routes := choose(s, machine)
	if len(routes) == 0 {
		return
	}
	in, err := connect(ctx, routes[0])
	if err != nil {
		s.Unexamined(fmt.Sprintf("the inside of %d Windows nodes", len(routes)), err)
		return
	}
	defer in.Close()
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, r := range routes {
		work.Go(func() {
			out, err := PowerShell(ctx, in.To(r), walk.Script())
			if err != nil {
				s.Unexamined("the inside of Windows node "+r.Node, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			s.Inside[r.Node] = walk.ParseInside(out)
		})
	}
	work.Wait()
}

// choose returns the routes to the nodes that are probed.
func choose(s *facts.Snapshot, machine string) (chosen []sshroute.Route) {
	routes := map[string]sshroute.Route{}
	for _, r := range sshroute.Routes(s.Cluster, s.Machines, s.AzureMachines, "") {
		if machine == "" || machine == r.Machine {
			routes[r.Node] = r
		}
	}
	for _, n := range windowsNodes(s) {
		if r, ours := routes[n.Name]; ours {
			chosen = append(chosen, r.At(n))
		}
	}
	if more := len(chosen) - maxNodes; more > 0 {
		s.Unexamined(fmt.Sprintf("the inside of %d more Windows nodes", more),
			errors.New("only the first "+strconv.Itoa(maxNodes)+" are looked into; name one: casement why NODE"))
		chosen = chosen[:maxNodes]
	}
	return chosen
}

// windowsNodes returns a cluster's Windows nodes, nodes that are not Ready first.
func windowsNodes(s *facts.Snapshot) []*corev1.Node {
	var out []*corev1.Node
	for _, n := range s.Nodes {
		if n.Status.NodeInfo.OperatingSystem == "windows" {
			out = append(out, n)
		}
	}
	rank := func(n *corev1.Node) string {
		ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if ready {
			return "1" + n.Name
		}
		return "0" + n.Name
	}
	slices.SortFunc(out, func(a, b *corev1.Node) int { return strings.Compare(rank(a), rank(b)) })
	return out
}

// PowerShell runs a script on a Windows machine and returns its output.
func PowerShell(ctx context.Context, in *sshroute.Dialer, script string) (string, error) {
	ssh, err := in.SSH(ctx)
	if err != nil {
		return "", err
	}
	defer ssh.Close()
	var out bytes.Buffer
	_, err = sshroute.Output(ctx, ssh, "powershell.exe -NoProfile -EncodedCommand "+encodeCommand(script), &out, io.Discard)
	return out.String(), err
}

// encodeCommand encodes a script for PowerShell's -EncodedCommand: base64 of UTF-16.
func encodeCommand(script string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(script)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return base64.StdEncoding.EncodeToString(b)
}
