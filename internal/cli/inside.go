package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/sshroute"
)

const (
	// insideNodes is how many Windows nodes of a cluster are looked into unasked.
	insideNodes = 10
	// insidePatience bounds the look into all of them.
	insidePatience = 5 * time.Second
)

// lookInside runs the probes on Windows nodes over SSH: on the one of the machine,
// or, when machine is empty, on at most insideNodes, those that are not Ready first.
// A node that is not reached in time is left out.
func (a *app) lookInside(ctx context.Context, t target, f *walk.Facts, machine string) {
	routes := map[string]sshroute.Route{}
	for _, r := range sshroute.Routes(f.Cluster, f.Machines, f.AzureMachines, "") {
		if machine == "" || machine == r.Machine {
			routes[r.Node] = r
		}
	}
	ctx, cancel := context.WithTimeout(ctx, insidePatience)
	defer cancel()
	quiet := newApp(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	quiet.dir = a.dir
	var mu sync.Mutex
	var work sync.WaitGroup
	f.Inside = map[string]walk.Inside{}
	var chosen []sshroute.Route
	for _, n := range windowsNodes(f) {
		if r, ours := routes[n.Name]; ours && len(chosen) < insideNodes {
			chosen = append(chosen, r.At(n))
		}
	}
	if len(chosen) == 0 {
		return
	}
	in, err := quiet.enter(ctx, way{target: t, user: sshroute.User}, chosen[0])
	if err != nil {
		return
	}
	defer in.Close()
	for _, r := range chosen {
		work.Go(func() {
			out, err := powershell(ctx, in.To(r), walk.Script())
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			f.Inside[r.Node] = walk.ParseInside(out)
		})
	}
	work.Wait()
}

// windowsNodes are a cluster's Windows nodes, those that are not Ready first.
func windowsNodes(f *walk.Facts) []*corev1.Node {
	var out []*corev1.Node
	for _, n := range f.Nodes {
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

// powershell runs a script on the Windows machine of an entrance and returns what it
// printed.
func powershell(ctx context.Context, in *sshroute.Entrance, script string) (string, error) {
	ssh, err := in.SSH(ctx)
	if err != nil {
		return "", err
	}
	defer ssh.Close()
	var out bytes.Buffer
	_, err = sshroute.Output(ctx, ssh, "powershell.exe -NoProfile -EncodedCommand "+encodeCommand(script), &out, io.Discard)
	return out.String(), err
}

// encodeCommand is what PowerShell's -EncodedCommand takes: base64 of UTF-16.
func encodeCommand(script string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(script)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return base64.StdEncoding.EncodeToString(b)
}
