package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestMain lets the test binary replace casement-kube, the program that a machine starts.
func TestMain(m *testing.M) {
	if strings.HasSuffix(os.Args[0], ".test") {
		os.Exit(m.Run())
	}
	playKube()
}

func testHost(dir string) *Host {
	return New(Config{Dir: dir, Log: logr.Discard()})
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// playKube replaces casement-kube: it reads a kubeconfig and creates a data directory.
func playKube() {
	if os.Args[0] == "boot" {
		playBoot()
	}
	for _, arg := range os.Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--kubeconfig":
			if config, err := clientcmd.BuildConfigFromFlags("", value); err == nil {
				if client, err := rest.HTTPClientFor(config); err == nil {
					_, _ = client.Get(config.Host) // no server answers there; a program in the kubeconfig would run before the request
				}
			}
		case "--data-dir":
			if err := os.MkdirAll(value, 0o700); err != nil {
				panic(err)
			}
		}
	}
	fmt.Println("up")
	time.Sleep(time.Hour) // until the process is killed
}

// playBoot replaces kubeadm on a machine whose disk is full at first.
func playBoot() {
	root := ""
	for _, arg := range os.Args {
		if v, ok := strings.CutPrefix(arg, "--root="); ok {
			root = v
		}
	}
	half, again := filepath.Join(root, kubernetesDir, "half.key"), filepath.Join(root, kubernetesDir, "given")
	if _, err := os.Stat(half); err == nil {
		fmt.Println("half.key: half a file")
		os.Exit(1)
	}
	if text, _ := os.ReadFile(again); string(text) == "second" {
		os.Exit(0)
	}
	_ = os.WriteFile(half, nil, 0o600)
	_ = os.WriteFile(again, []byte("second"), 0o600)
	fmt.Printf("write half.key: %v\n", syscall.ENOSPC)
	os.Exit(1)
}
