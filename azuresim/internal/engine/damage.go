package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"casement.dev/casement/azuresim/internal/boltfile"
	"casement.dev/casement/azuresim/internal/value"
	"casement.dev/casement/internal/private"
)

// checksumMark is the first byte of a value with a checksum; values of older versions have no checksum
// and begin with '{'.
const checksumMark = 'c'

var checksumTable = crc32.MakeTable(crc32.Castagnoli)

// addChecksum prepends the checksum of a key and its content to the content.
func addChecksum(key, content []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte{checksumMark}, crc32.Update(crc32.Checksum(key, checksumTable), checksumTable, content))
	return append(out, content...)
}

// verifyChecksum checks the checksum of a value and returns the value without it.
func verifyChecksum(key, v []byte) ([]byte, error) {
	switch {
	case len(v) > 0 && v[0] == '{' && json.Valid(v):
		return v, nil
	case len(v) < 5 || v[0] != checksumMark ||
		binary.LittleEndian.Uint32(v[1:]) != crc32.Update(crc32.Checksum(key, checksumTable), checksumTable, v[5:]):
		return nil, fmt.Errorf("the value of %s is damaged", key)
	}
	return v[5:], nil
}

// recoverDatabase checks a database before it is opened, because bbolt panics on a damaged one. It renames
// a damaged database, copies the entries that can be read into a new one, and returns an error
// that says so; the server then starts with the new database.
func recoverDatabase(path string) error {
	f, err := private.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return checkDeleted(path)
	} else if err != nil {
		return err
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil // another process writes the database; opening it returns an error that says so
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	found, damage := boltfile.Read(data)
	whole := map[string][]boltfile.Entry{}
	for _, bucket := range []string{bucketDocs, bucketOps} {
		for _, e := range found[bucket] {
			if err := readable(bucket, e); err != nil {
				damage = errors.Join(damage, err)
				continue
			}
			whole[bucket] = append(whole[bucket], e)
		}
	}
	if damage == nil {
		return nil
	}
	aside, err := replaceDamaged(path, whole)
	if err != nil {
		return fmt.Errorf("%s is damaged (%w), and what can be read of it could not be written: %w", path, firstOf(damage), err)
	}
	return fmt.Errorf("%s is damaged (%w); it is kept as %s. %d resources and %d operations could be read and "+
		"are in a new file: start again to go on with them",
		path, firstOf(damage), aside, len(whole[bucketDocs]), len(whole[bucketOps]))
}

// checkDeleted returns an error for a database that was deleted. The key for tokens is created after the
// database, so a key without a database proves the deletion.
func checkDeleted(path string) error {
	dir := filepath.Dir(path)
	if _, err := os.Lstat(filepath.Join(dir, signerFile)); err != nil {
		return ignoreNotExist(err)
	}
	return fmt.Errorf("%s is gone, and with it all resources of this Azure: put the file back, or delete all of %s "+
		"to begin with an empty Azure", path, dir)
}

// firstOf returns the first of joined errors, of which there can be thousands.
func firstOf(err error) error {
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			return err
		}
		err = joined.Unwrap()[0]
	}
}

// readable returns the error that prevents reading an entry of the state file, or nil.
func readable(bucket string, e boltfile.Entry) error {
	v, err := verifyChecksum(e.Key, e.Value)
	if err != nil {
		return err
	}
	if bucket == bucketOps {
		return json.Unmarshal(v, &Operation{})
	}
	r := &Record{}
	if err := json.Unmarshal(v, r); err != nil {
		return err
	}
	if value.Lower(r.ID) != string(e.Key) {
		return fmt.Errorf("the value of %s is that of another resource", e.Key)
	}
	_, err = r.decode(r.Body, r.Hidden)
	return err
}

// replaceDamaged renames a damaged database and writes a new one with the entries that could be read.
func replaceDamaged(path string, whole map[string][]boltfile.Entry) (aside string, err error) {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	db, err := openDB(next)
	if err != nil {
		return "", err
	}
	err = db.Update(func(t *bbolt.Tx) error {
		for name, entries := range whole {
			b, err := t.CreateBucketIfNotExists([]byte(name))
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := b.Put(e.Key, e.Value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Sync(), db.Close()); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		aside = fmt.Sprintf("%s.damaged-%d", path, n)
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return filepath.Base(aside), errors.Join(os.Rename(path, aside), os.Rename(next, path))
}

// openDB opens a database with NoSync, because otherwise each answer would wait for the disk.
// Written data survives the end of the process; only a power failure can lose it.
func openDB(path string) (*bbolt.DB, error) {
	return bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 5 * time.Second, NoSync: true, NoFreelistSync: true})
}

// guardedly calls a function that reads a database and converts a panic of bbolt into an error.
func guardedly(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	return read()
}
