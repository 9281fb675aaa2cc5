package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// TestWrite: equal programs yield equal archives, whose index contains an image for each
// architecture with a user that is not root.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	programs := map[string]string{}
	for _, arch := range []string{"amd64", "arm64"} {
		programs[arch] = filepath.Join(dir, arch)
		if err := os.WriteFile(programs[arch], []byte("program for "+arch), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var archives [2][]byte
	for i := range archives {
		out := filepath.Join(dir, "out.tar")
		if _, err := write(options{name: "example.com/p:v1", entry: "p", argument: []string{"lint"},
			programs: programs, time: time.Unix(1e9, 0), out: out}); err != nil {
			t.Fatal(err)
		}
		var err error
		if archives[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the same programs make different archives")
	}
	blobs := read(t, archives[0])
	var top, index ocispec.Index
	decode(t, blobs["index.json"], &top)
	decode(t, blobs[blob(top.Manifests[0].Digest)], &index)
	if len(index.Manifests) != 2 {
		t.Fatalf("%d images, want 2", len(index.Manifests))
	}
	for _, m := range index.Manifests {
		var manifest ocispec.Manifest
		var config ocispec.Image
		decode(t, blobs[blob(m.Digest)], &manifest)
		decode(t, blobs[blob(manifest.Config.Digest)], &config)
		if config.Architecture != m.Platform.Architecture || config.Config.User != user ||
			!slices.Equal(config.Config.Entrypoint, []string{"/p", "lint"}) || len(manifest.Layers) != 1 {
			t.Errorf("image for %s: %+v", m.Platform.Architecture, config)
		}
	}
}

func blob(d digest.Digest) string { return "blobs/" + d.Algorithm().String() + "/" + d.Encoded() }

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%v: %q", err, data)
	}
}

func read(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
