// Package input reads files and URLs that a user names: it reads at most a given number of bytes, and opens no device
// but /dev/null and a terminal as standard input. It reads a pipe like a file, so that <(command) works.
//
// It parses nothing. Any package may import it; it imports only the standard library.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"
)

// Small is the size limit of a configuration, a template or a list.
const Small = 16 << 20

// openTime is the time to wait for a program that opens a FIFO for writing.
const openTime = 10 * time.Second

// fetchTime is the timeout of a download.
const fetchTime = time.Minute

// File returns the content of a file or a pipe of at most limit bytes.
func File(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := Check(name, info, limit); err != nil {
		return nil, err
	}
	f, err := open(name, info.Mode()&fs.ModeNamedPipe != 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return All(f, name, limit)
}

// Check returns an error for a file that must not be opened: a directory, a device, a socket, or a file of more than
// limit bytes.
func Check(name string, info fs.FileInfo, limit int64) error {
	mode := info.Mode()
	switch {
	case mode.IsDir():
		return fmt.Errorf("%s is a directory", name)
	case mode&fs.ModeDevice != 0 && !allowed(info):
		return fmt.Errorf("%s is a device, which is not read: name a file, or - for standard input", name)
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("%s is a socket, which is not read", name)
	case mode.IsRegular() && info.Size() > limit:
		return tooLarge(name, limit)
	}
	return nil
}

// Named checks files that another program or library is about to read without limits. It ignores missing files and "".
func Named(limit int64, files ...string) error {
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		if err := Check(name, info, limit); err != nil {
			return err
		}
	}
	return nil
}

// Regular returns an error for a file that must not be opened if it was found and not named by the user. It includes
// FIFOs, because opening one waits for a writer.
func Regular(info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("it is no regular file (%s), and is not read unless it is named", info.Mode().Type())
}

// allowed reports whether a device is /dev/null or standard input, which may be a terminal.
func allowed(info fs.FileInfo) bool {
	for _, f := range []string{os.DevNull, "/dev/stdin"} {
		if other, err := os.Stat(f); err == nil && os.SameFile(info, other) {
			return f == os.DevNull || info.Mode()&fs.ModeCharDevice != 0 && terminal()
		}
	}
	return false
}

// terminal reports whether standard input is interactive; a device such as /dev/zero is not.
func terminal() bool {
	target, err := os.Readlink("/proc/self/fd/0")
	return err != nil || len(target) > 8 && target[:8] == "/dev/pts" || len(target) > 7 && target[:7] == "/dev/tt"
}

func open(name string, fifo bool) (*os.File, error) {
	if !fifo {
		return os.Open(name)
	}
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.Open(name)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.file, o.err
	case <-time.After(openTime):
		return nil, fmt.Errorf("%s is a FIFO to which no program writes", name)
	}
}

// All returns the content of a stream of at most limit bytes; name is for the error.
func All(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, tooLarge(name, limit)
	}
	return data, err
}

func tooLarge(name string, limit int64) error {
	if name == "-" {
		name = "standard input"
	}
	return fmt.Errorf("%s has more than the %d MiB that are read", name, limit>>20)
}

// URL returns the content of a URL of at most limit bytes. Its timeout is a minute.
func URL(ctx context.Context, url string, limit int64) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	data, err := get(req, url, limit)
	if ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("%s was not there in whole after %s", url, fetchTime)
	}
	return data, err
}

func get(req *http.Request, url string, limit int64) ([]byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return All(resp.Body, url, limit)
}
