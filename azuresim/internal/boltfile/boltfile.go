// Package boltfile reads the file of a bbolt database and trusts none of its bytes; bbolt itself
// panics, faults or loops on a damaged file.
//
// It writes nothing and repairs nothing: it returns all entries of each bucket that can be read,
// and the first damage that it finds. Nested buckets are not read. The local Azure may import it;
// it imports only the standard library. Source of the format: the documentation of go.etcd.io/bbolt
// and its page headers.
package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
)

// The format. All numbers are little-endian, as on all machines on which casement runs.
const (
	magic       = 0xED0CDAED
	version     = 2
	headerSize  = 16 // size of the header of a page, an element or a bucket
	metaSize    = 64
	flagBranch  = 0x01
	flagLeaf    = 0x02
	flagMeta    = 0x04
	flagBucket  = 0x01
	minPageSize = 1024
	maxPageSize = 16 << 20
)

// Entry is a key with its value. Both are parts of the data passed to Read.
type Entry struct{ Key, Value []byte }

// Read returns the entries of each bucket, as far as they can be read. The error is the
// first damage that was found; if it is nil, the whole tree was read.
func Read(data []byte) (map[string][]Entry, error) {
	if len(data) == 0 {
		return nil, errors.New("the file is empty")
	}
	f := &file{data: data, seen: map[uint64]bool{}}
	root, ok := f.meta()
	if !ok {
		return nil, f.damage
	}
	out := map[string][]Entry{}
	f.walk(root, nil, nil, func(flags uint32, key, value []byte) {
		if flags != flagBucket {
			f.fail("there is a key beside the buckets")
			return
		}
		out[string(key)] = f.bucket(value)
	})
	return out, f.damage
}

// file is a database that is being read.
type file struct {
	data     []byte
	pageSize uint64
	pages    uint64          // number of pages of the database
	seen     map[uint64]bool // pages of the tree that were read
	damage   error           // the first damage
}

func (f *file) fail(format string, args ...any) {
	if f.damage == nil {
		f.damage = fmt.Errorf(format, args...)
	}
}

// meta returns the root page of the newer of the two meta pages. Both meta pages are valid
// in an undamaged file.
func (f *file) meta() (root uint64, ok bool) {
	var newest uint64
	size := f.findPageSize()
	for i := range uint64(2) {
		m, valid := f.head(i * size)
		if !valid {
			f.fail("head %d of the file is damaged", i)
			continue
		}
		if id := binary.LittleEndian.Uint64(m[48:]); !ok || id > newest {
			newest, ok = id, true
			f.pageSize, root, f.pages = size, binary.LittleEndian.Uint64(m[16:]), binary.LittleEndian.Uint64(m[40:])
		}
	}
	if ok && (f.pages > uint64(len(f.data))/f.pageSize) {
		f.fail("the file has %d bytes, %d pages of %d bytes belong to it", len(f.data), f.pages, f.pageSize)
		f.pages = uint64(len(f.data)) / f.pageSize
	}
	return root, ok
}

// findPageSize returns the page size in a meta page; the second meta page is one page after
// the first.
func (f *file) findPageSize() uint64 {
	if m, ok := f.head(0); ok {
		return uint64(binary.LittleEndian.Uint32(m[8:]))
	}
	for size := uint64(minPageSize); size <= maxPageSize; size *= 2 {
		if m, ok := f.head(size); ok && uint64(binary.LittleEndian.Uint32(m[8:])) == size {
			return size
		}
	}
	return uint64(os.Getpagesize())
}

// head returns the meta data in the page at an offset.
func (f *file) head(at uint64) ([]byte, bool) {
	if at+headerSize+metaSize > uint64(len(f.data)) {
		return nil, false
	}
	m := f.data[at+headerSize : at+headerSize+metaSize]
	sum := fnv.New64a()
	sum.Write(m[:56])
	size := binary.LittleEndian.Uint32(m[8:])
	valid := binary.LittleEndian.Uint16(f.data[at+8:]) == flagMeta && binary.LittleEndian.Uint32(m) == magic &&
		binary.LittleEndian.Uint32(m[4:]) == version &&
		binary.LittleEndian.Uint64(m[56:]) == sum.Sum64() && size >= minPageSize && size <= maxPageSize && size&(size-1) == 0
	return m, valid
}

// page returns the bytes of a page with its overflow pages. It returns each page only once, so that
// a loop in a damaged tree ends.
func (f *file) page(id uint64) ([]byte, bool) {
	if id < 2 || id >= f.pages || f.seen[id] {
		f.fail("page %d is not one of the file's, or is used twice", id)
		return nil, false
	}
	f.seen[id] = true
	at := id * f.pageSize
	overflow := uint64(binary.LittleEndian.Uint32(f.data[at+12:]))
	if binary.LittleEndian.Uint64(f.data[at:]) != id || overflow >= f.pages-id {
		f.fail("page %d has a damaged header", id)
		return nil, false
	}
	return f.data[at : at+(overflow+1)*f.pageSize], true
}

// walk calls visit for the elements of all leaf pages below a page, in the order of their keys,
// which must be at least low and less than high.
func (f *file) walk(id uint64, low, high []byte, visit func(flags uint32, key, value []byte)) {
	if page, ok := f.page(id); ok {
		f.elements(page, fmt.Sprintf("page %d", id), low, high, visit)
	}
}

// elements calls visit for the elements of a leaf page, or calls walk for the pages below a branch
// page.
func (f *file) elements(page []byte, name string, low, high []byte, visit func(flags uint32, key, value []byte)) {
	kind, count := binary.LittleEndian.Uint16(page[8:]), uint64(binary.LittleEndian.Uint16(page[10:]))
	if kind != flagLeaf && kind != flagBranch || headerSize*(count+1) > uint64(len(page)) {
		f.fail("%s has a damaged header", name)
		return
	}
	var keys [][]byte
	var elements [][]byte
	for i := range count {
		e := page[headerSize*(i+1):]
		key, ok := keyOf(e, kind)
		if !ok || low != nil && bytes.Compare(key, low) < 0 || high != nil && bytes.Compare(key, high) >= 0 {
			f.fail("element %d of %s is damaged", i, name)
			continue
		}
		if n := len(keys); n > 0 && bytes.Compare(keys[n-1], key) >= 0 {
			f.fail("element %d of %s is not in order", i, name)
			continue
		}
		keys, elements = append(keys, key), append(elements, e)
	}
	for i, e := range elements {
		if kind == flagBranch {
			below := high
			if i+1 < len(keys) {
				below = keys[i+1]
			}
			f.walk(binary.LittleEndian.Uint64(e[8:]), keys[i], below, visit)
			continue
		}
		at, size := uint64(binary.LittleEndian.Uint32(e[4:]))+uint64(len(keys[i])), uint64(binary.LittleEndian.Uint32(e[12:]))
		if at+size > uint64(len(e)) {
			f.fail("a value in %s is damaged", name)
			continue
		}
		visit(binary.LittleEndian.Uint32(e), keys[i], e[at:at+size])
	}
}

// keyOf returns the key of an element; e begins with the element.
func keyOf(e []byte, kind uint16) ([]byte, bool) {
	at, size := uint64(binary.LittleEndian.Uint32(e)), uint64(binary.LittleEndian.Uint32(e[4:]))
	if kind == flagLeaf {
		at, size = size, uint64(binary.LittleEndian.Uint32(e[8:]))
	}
	if size == 0 || at+size > uint64(len(e)) {
		return nil, false
	}
	return e[at : at+size], true
}

// bucket returns the entries of a bucket, whose content is a separate page or inline in the value.
func (f *file) bucket(value []byte) (out []Entry) {
	collect := func(flags uint32, key, value []byte) {
		if flags != 0 {
			f.fail("a bucket holds a bucket")
			return
		}
		out = append(out, Entry{key, value})
	}
	switch {
	case len(value) < headerSize:
		f.fail("a bucket is damaged")
	case binary.LittleEndian.Uint64(value) != 0:
		f.walk(binary.LittleEndian.Uint64(value), nil, nil, collect)
	case len(value) < 2*headerSize:
		f.fail("a bucket is damaged")
	default:
		f.elements(value[headerSize:], "a bucket's page", nil, nil, collect)
	}
	return out
}
