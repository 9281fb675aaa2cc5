package local

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestMain lets the test binary play the programs that a plane starts: itself as the
// conductor ("conduct DIR"), and casement-kube.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "conduct":
		conduct(Dir(os.Args[2]))
	case strings.HasSuffix(os.Args[0], ".test"):
		os.Exit(m.Run())
	default:
		playKube()
	}
}

// conduct runs a plane that is the local Azure alone.
func conduct(dir Dir) {
	if err := Run(context.Background(), Options{Dir: dir, Log: os.Stderr, AzureOnly: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// playKube is casement-kube, as far as it reads a kubeconfig and makes a data directory.
func playKube() {
	for _, arg := range os.Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--kubeconfig":
			if config, err := clientcmd.BuildConfigFromFlags("", value); err == nil {
				if client, err := rest.HTTPClientFor(config); err == nil {
					_, _ = client.Get(config.Host) // no server answers there: a program would run before
				}
			}
		case "--data-dir":
			if err := os.MkdirAll(value, 0o700); err != nil {
				panic(err)
			}
		}
	}
	fmt.Println("up")
	time.Sleep(time.Hour) // until it is ended
}
