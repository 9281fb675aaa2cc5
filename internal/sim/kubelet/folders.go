package kubelet

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"

	"casement.dev/casement/internal/contain"
)

// Folders notifies the kubelets of one process of changes in folders. They share one watcher,
// because Linux limits the number of watchers per user but allows many folders for each. Its
// methods may be called concurrently.
type Folders struct {
	watcher *fsnotify.Watcher // nil if the kernel provides none
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool // by folder
}

// NewFolders returns a Folders that watches nothing yet. If the kernel provides no watcher, because
// the user's limit is reached (fs.inotify.max_user_instances), it notifies of nothing, and kubelets
// read the folders as rarely as a real kubelet does then.
func NewFolders() *Folders {
	f := &Folders{waiting: map[string]map[chan struct{}]bool{}}
	if w, err := fsnotify.NewWatcher(); err == nil {
		f.watcher = w
		(*contain.Wall)(nil).Go(nil, "kubelet", f.run)
	}
	return f
}

// Close ends all watches.
func (f *Folders) Close() {
	if f.watcher != nil {
		_ = f.watcher.Close() // always succeeds
	}
}

func (f *Folders) run() {
	for {
		select {
		case e, ok := <-f.watcher.Events:
			if !ok {
				return
			}
			f.notify(e.Name)
			f.notify(filepath.Dir(e.Name))
		case _, ok := <-f.watcher.Errors:
			if !ok {
				return
			}
			f.notifyAll() // events were lost
		}
	}
}

func (f *Folders) notify(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.waiting[dir] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (f *Folders) notifyAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, waiting := range f.waiting {
		for c := range waiting {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}

// watch returns a channel that is notified of changes in dir until leave is called. If dir does not
// exist, the channel is notified of changes in the nearest existing folder above, so that the
// caller can call watch again.
func (f *Folders) watch(dir string) (changed <-chan struct{}, leave func()) {
	if f.watcher == nil {
		return nil, func() {}
	}
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	c := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[dir] == nil {
		if err := f.watcher.Add(dir); err != nil {
			return nil, func() {} // the folder was just deleted, or too many are watched: the caller polls
		}
		f.waiting[dir] = map[chan struct{}]bool{}
	}
	f.waiting[dir][c] = true
	return c, func() { f.leave(dir, c) }
}

func (f *Folders) leave(dir string, c chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting[dir], c)
	if len(f.waiting[dir]) == 0 {
		delete(f.waiting, dir)
		_ = f.watcher.Remove(dir) // the folder, and its watch with it, may have been deleted
	}
}
