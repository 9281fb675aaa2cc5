package engine

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/go-logr/logr"
	"go.etcd.io/bbolt"
)

// store is the state of the emulator, in memory and, if it has a database, on disk. The
// Server's lock protects it.
type store struct {
	index
	recent   *recent
	registry *registry
	log      logr.Logger
	db       *bbolt.DB
	ops      map[string]*Operation
	// open has the operation in progress on each document.
	open map[string]*Operation
	rev  uint64
	// pruneAt is the number of operations at which old ones are removed.
	pruneAt int
}

const (
	bucketDocs = "resources"
	bucketOps  = "operations"
	bucketMeta = "meta"
)

func openStore(dir string, types *registry, log logr.Logger) (*store, error) {
	st := &store{index: newIndex(), registry: types, recent: newRecent(), log: log, ops: map[string]*Operation{},
		open: map[string]*Operation{}}
	if dir == "" {
		return st, nil
	}
	path := filepath.Join(dir, "azure.db")
	if err := recoverDatabase(path); err != nil {
		return nil, fmt.Errorf("the local Azure's state: %w", err)
	}
	err := guardedly(func() (err error) { st.db, err = openDB(path); return err })
	if err != nil {
		return nil, fmt.Errorf("open the local Azure's state %s (is another one running?): %w", path, err)
	}
	if err := guardedly(st.load); err != nil {
		st.db.Close()
		return nil, fmt.Errorf("read the local Azure's state %s: %w", path, err)
	}
	return st, nil
}

func (st *store) load() error {
	return st.db.Update(func(b *bbolt.Tx) error {
		for _, name := range []string{bucketDocs, bucketOps, bucketMeta} {
			if _, err := b.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		err := b.Bucket([]byte(bucketDocs)).ForEach(func(k, v []byte) error {
			r := &Record{}
			v, err := verifyChecksum(k, v)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(v, r); err != nil {
				return err
			}
			if err := r.complete(st.registry); err != nil {
				return err
			}
			r.Body, r.Hidden = nil, nil
			st.rev = max(st.rev, r.Rev)
			st.insert(r)
			return nil
		})
		if err != nil {
			return err
		}
		return b.Bucket([]byte(bucketOps)).ForEach(func(k, v []byte) error {
			op := &Operation{}
			v, err := verifyChecksum(k, v)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(v, op); err != nil {
				return err
			}
			op.share()
			st.insertOp(op)
			return nil
		})
	})
}

func (st *store) insertOp(op *Operation) {
	st.ops[op.ID] = op
	if op.Status == statusInProgress {
		st.open[op.lock()] = op
	} else if o := st.open[op.lock()]; o != nil && o.ID == op.ID {
		delete(st.open, op.lock())
	}
}

func (st *store) removeOp(id string) {
	op := st.ops[id]
	if op == nil {
		return
	}
	delete(st.ops, id)
	if o := st.open[op.lock()]; o != nil && o.ID == id {
		delete(st.open, op.lock())
	}
}

// save writes the changes of a transaction to the database atomically. It may remove the
// written bodies from memory.
func (st *store) save(docs map[string]bool, ops map[string]bool) error {
	if st.db == nil {
		return nil
	}
	err := st.db.Update(func(b *bbolt.Tx) error {
		bd, bo := b.Bucket([]byte(bucketDocs)), b.Bucket([]byte(bucketOps))
		for k := range docs {
			if err := saveOne(bd, k, st.records[k]); err != nil {
				return err
			}
		}
		for k := range ops {
			if err := saveOne(bo, k, st.ops[k]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for k := range docs {
		if r := st.records[k]; r != nil {
			r.Body, r.Hidden = nil, nil
		}
	}
	return nil
}

func saveOne[T any](b *bbolt.Bucket, key string, v *T) error {
	if v == nil {
		return b.Delete([]byte(key))
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put([]byte(key), addChecksum([]byte(key), data))
}

func (st *store) close() error {
	if st.db == nil {
		return nil
	}
	if err := st.db.Sync(); err != nil {
		st.db.Close()
		return fmt.Errorf("flush the local Azure's state: %w", err)
	}
	return st.db.Close()
}
