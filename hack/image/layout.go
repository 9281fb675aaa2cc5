package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "crypto/sha256" // go-digest finds it by registration
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// blobs are the contents of a layout by their path in it.
type blobs map[string][]byte

// add keeps a blob and returns what refers to it.
func (b blobs) add(mediaType string, data []byte) ocispec.Descriptor {
	d := digest.FromBytes(data)
	b[ocispec.ImageBlobsDir+"/"+d.Algorithm().String()+"/"+d.Encoded()] = data
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

func (b blobs) addJSON(mediaType string, v any) (ocispec.Descriptor, error) {
	data, err := json.Marshal(v)
	return b.add(mediaType, data), err
}

// write writes the archive and returns the digest of the image's index.
func write(o options) (indexDigest string, err error) {
	if o.name == "" || o.entry == "" || o.out == "" || len(o.programs) == 0 {
		return "", errors.New("--name, --entry, --program and --out are needed")
	}
	content := blobs{}
	index, err := build(o, content)
	if err != nil {
		return "", err
	}
	index.Annotations = map[string]string{
		ocispec.AnnotationRefName: o.name[strings.LastIndex(o.name, ":")+1:], "io.containerd.image.name": o.name,
	}
	for name, v := range map[string]any{
		ocispec.ImageLayoutFile: ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion},
		ocispec.ImageIndexFile: ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2},
			MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{index}},
	} {
		if content[name], err = json.Marshal(v); err != nil {
			return "", err
		}
	}
	out, err := os.Create(o.out)
	if err != nil {
		return "", err
	}
	return index.Digest.String(), errors.Join(archive(content, o.time, out), out.Close())
}

// build adds one image per architecture and the index of all, which it returns.
func build(o options, content blobs) (ocispec.Descriptor, error) {
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, arch := range slices.Sorted(maps.Keys(o.programs)) {
		image, err := one(o, arch, content)
		if err != nil {
			return ocispec.Descriptor{}, fmt.Errorf("image for %s: %w", arch, err)
		}
		image.Platform = &ocispec.Platform{OS: "linux", Architecture: arch}
		index.Manifests = append(index.Manifests, image)
	}
	return content.addJSON(ocispec.MediaTypeImageIndex, index)
}

func one(o options, arch string, content blobs) (ocispec.Descriptor, error) {
	program, err := os.ReadFile(o.programs[arch])
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	plain, err := files(o, program)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if _, err := z.Write(plain); err != nil {
		return ocispec.Descriptor{}, err
	}
	if err := z.Close(); err != nil {
		return ocispec.Descriptor{}, err
	}
	config, err := content.addJSON(ocispec.MediaTypeImageConfig, ocispec.Image{
		Created: &o.time, Platform: ocispec.Platform{OS: "linux", Architecture: arch},
		Config: ocispec.ImageConfig{User: user, Entrypoint: append([]string{"/" + o.entry}, o.argument...),
			WorkingDir: "/", Labels: o.labels},
		RootFS:  ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(plain)}},
		History: []ocispec.History{{Created: &o.time, CreatedBy: "hack/image"}},
	})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return content.addJSON(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: config,
		Layers: []ocispec.Descriptor{content.add(ocispec.MediaTypeImageLayerGzip, packed.Bytes())},
	})
}

// files is the image's file system: the program, the names of its user, and a place
// for temporary files.
func files(o options, program []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{
		{"etc/", 0o755, nil},
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{"etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n")},
		{"tmp/", 0o1777, nil},
		{o.entry, 0o755, program},
	} {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: o.time,
			Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	// The end of the archive is written by Close.
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// archive writes a layout as a tar file, in the order of its names.
func archive(content blobs, at time.Time, out io.Writer) error {
	w := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content[name])), ModTime: at,
			Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := w.Write(content[name]); err != nil {
			return err
		}
	}
	return w.Close()
}
