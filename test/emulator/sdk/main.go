// Command sdk runs the example programs that the Azure SDK for Go publishes with the local Azure.
// The project did not write them: it reads them from the module cache, and they reach the local
// Azure through its proxy with public endpoints and the default credential. Each example has a
// separate local Azure, in which its prerequisites (groups, networks, machines) exist.
//
// make e2e-sdk runs it; it is not part of go test, because it compiles some 1,700 programs. It
// lists unsupported requests, and refused requests with the reason.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the module's directory")
	only := flag.String("only", "", "run the examples whose name contains one of these, comma separated")
	least := flag.Int("least", 400, "how many have to succeed")
	verbose := flag.Bool("v", false, "show each example")
	flag.Parse()
	ok, err := run(context.Background(), *root, *only, *verbose)
	if err == nil && ok < *least && *only == "" {
		err = fmt.Errorf("%d examples succeeded, want %d", ok, *least)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-sdk:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, only string, verbose bool) (int, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "csdk")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary, all, err := build(root, dir)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stage, err := open(ctx, filepath.Join(dir, "azure"))
	if err != nil {
		return 0, err
	}
	defer stage.server.Close()
	c := newChild(binary, stage.proxy, stage.server.CAFile(), stage.server.Client().Secret)
	defer c.stop()
	var results []result
	for _, e := range all {
		if !wanted(e.Name, only) {
			continue
		}
		r, err := stage.play(ctx, c, e)
		if err != nil {
			return 0, err
		}
		results = append(results, r)
		if verbose {
			fmt.Printf("%-12s %s %s\n", r.verdict, e.Name, r.reason)
		}
	}
	return report(os.Stdout, results), nil
}

func wanted(name, only string) bool {
	for part := range strings.SplitSeq(only, ",") {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// play runs an example once to learn its first request, creates the request's prerequisites, and
// runs the example again.
func (s *stage) play(ctx context.Context, c *child, e example) (result, error) {
	r := result{example: e, verdict: refused}
	if err := s.server.Reset(); err != nil {
		return r, err
	}
	s.begin(true)
	said, err := c.run(e.Name)
	if err != nil {
		return r, err
	}
	asked := s.seen()
	if asked == nil {
		r.reason = "it asks nothing of ARM: " + brief(said)
		return r, nil
	}
	r.request = asked
	missing := s.prepare(ctx, asked)
	s.begin(false)
	if said, err = c.run(e.Name); err != nil {
		return r, err
	}
	switch {
	case said == "ok":
		r.verdict = succeeded
	case strings.Contains(said, "NotSupportedByLocalAzure"):
		r.verdict, r.reason = unmodelled, brief(said)
	default:
		r.reason = brief(said)
		if missing != nil {
			r.reason += " [" + brief(missing.Error()) + "]"
		}
	}
	return r, nil
}
