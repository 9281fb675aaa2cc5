package boltfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// database writes a database with two buckets, one of which is large, in many steps.
func database(t testing.TB, entries int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		err := db.Update(func(tx *bbolt.Tx) error {
			for name, n := range map[string]int{"large": entries, "small": 2, "empty": 0} {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				for i := round; i < n; i += 5 {
					if err := b.Put(fmt.Appendf(nil, "key %05d", i), bytes.Repeat([]byte{byte('a' + i%26)}, 10+i%9000)); err != nil {
						return err
					}
				}
				if round == 4 && n > 100 {
					for i := 0; i < n; i += 7 {
						if err := b.Delete(fmt.Appendf(nil, "key %05d", i)); err != nil {
							return err
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRead(t *testing.T) {
	for _, entries := range []int{0, 3, 300, 3000} {
		got, err := Read(database(t, entries))
		if err != nil {
			t.Fatalf("%d entries: %v", entries, err)
		}
		want := entries
		if entries > 100 {
			want -= (entries + 6) / 7
		}
		if len(got) != 3 || len(got["large"]) != want || len(got["small"]) != 2 || len(got["empty"]) != 0 {
			t.Errorf("%d entries: read %d and %d, want %d and 2", entries, len(got["large"]), len(got["small"]), want)
		}
	}
}

func TestDamage(t *testing.T) {
	whole := database(t, 300)
	for name, data := range map[string][]byte{
		"empty": {}, "one byte": whole[:1], "heads alone": whole[:8192], "half": whole[:len(whole)/2],
		"zeros": make([]byte, len(whole)), "text": []byte("not a database"),
	} {
		if got, err := Read(data); err == nil {
			t.Errorf("%s: no error, %d buckets", name, len(got))
		}
	}
}

// TestRandomDamage damages bytes: Read returns the written entries or an error.
func TestRandomDamage(t *testing.T) {
	whole := database(t, 500)
	want, err := Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := bytes.Clone(whole)
		for range 1 + r.IntN(50) {
			data[r.IntN(len(data))] = byte(r.Uint32())
		}
		got, err := Read(data)
		if err == nil && len(got["large"]) != len(want["large"]) {
			t.Errorf("seed %d: %d entries without an error, want %d", seed, len(got["large"]), len(want["large"]))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(database(f, 3))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = Read(data) }) // it must end without a panic
}
