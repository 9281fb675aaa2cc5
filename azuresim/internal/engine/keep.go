package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"casement.dev/casement/internal/private"
)

// Keep returns the content of a secret file in dir. If the file does not exist, Keep calls make and
// writes the content with mode 0600. With an empty dir it calls make each time.
func Keep(dir, name string, make func() ([]byte, error)) ([]byte, error) {
	if dir == "" {
		return make()
	}
	path := filepath.Join(dir, name)
	data, err := private.ReadFile(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return data, err
	}
	if data, err = make(); err != nil {
		return nil, err
	}
	return data, writeWhole(path, data, 0o600)
}

// writeWhole writes a file atomically: with all its content or not at all.
func writeWhole(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename this removes nothing
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}
