// Command image builds an OCI image of a program for several architectures without a container
// engine: an OCI layout in one tar file, which `skopeo copy oci-archive:`, `crane push` (unpacked),
// `podman load` and `ctr images import` accept.
//
// The image has no other program: no shell, no package manager, no libc. Its user is 65532. Equal
// programs yield equal images, byte by byte: every time in the image is --time.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// user is the user that is named nonroot in distroless images.
const user = "65532:65532"

type options struct {
	name     string            // name of the image, with its tag
	entry    string            // name of the program in the image
	argument []string          // arguments before the user's own
	programs map[string]string // path of the program, by architecture
	time     time.Time
	labels   map[string]string
	out      string
}

func main() {
	o := options{programs: map[string]string{}}
	var unix int64
	var source, revision, version string
	flag.StringVar(&o.name, "name", "", "name of the image, with its tag")
	flag.StringVar(&o.entry, "entry", "", "name of the program in the image")
	flag.Func("argument", "first argument of the program, once for each", func(s string) error {
		o.argument = append(o.argument, s)
		return nil
	})
	flag.Func("program", "ARCH=FILE, once for each architecture", func(s string) error {
		arch, file, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("want ARCH=FILE")
		}
		o.programs[arch] = file
		return nil
	})
	flag.Int64Var(&unix, "time", 0, "seconds since 1970 of every file, such as the commit's")
	flag.StringVar(&source, "source", "", "URL of the source")
	flag.StringVar(&revision, "revision", "", "commit")
	flag.StringVar(&version, "version", "", "version")
	flag.StringVar(&o.out, "out", "", "tar file to write")
	flag.Parse()
	o.time = time.Unix(unix, 0).UTC()
	o.labels = map[string]string{
		"org.opencontainers.image.source": source, "org.opencontainers.image.revision": revision,
		"org.opencontainers.image.version": version, "org.opencontainers.image.title": o.entry,
	}
	digest, err := write(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}
