package arm

import (
	"context"
	"net/http"
	"slices"
	"sync"
)

// What is to be done to a member of a scale set. A task stands in the member's
// document until it is done, so that it outlives the process and can be taken
// over by a later operation on the set.
const (
	taskBoot       = "boot"
	taskReimage    = "reimage"
	taskRestart    = "restart"
	taskStart      = "start"
	taskStop       = "stop"
	taskDeallocate = "deallocate"
	taskDelete     = "delete"
	taskTouch      = "touch"
)

// task is something to be done to one member; key tells it from later ones.
type task struct{ id, what, key string }

// assign gives a member a task, in place of one it may have.
func (t *tx) assign(d *doc, what string) *doc {
	e := t.edit(d.ID)
	state := "Updating"
	switch what {
	case taskBoot:
		state = "Creating"
	case taskDelete:
		state = "Deleting"
	}
	props(e.Body)["provisioningState"] = state
	e.Hidden["todo"], e.Hidden["task"] = what, t.s.guid()
	t.put(e)
	return e
}

func taskOf(d *doc) task {
	return task{id: d.ID, what: str(d.Hidden, "todo"), key: str(d.Hidden, "task")}
}

// openTasks lists the tasks of a set's members.
func (t *tx) openTasks(set string) []task {
	d := t.find(set)
	if d == nil {
		return nil
	}
	var out []task
	for _, m := range t.members(d) {
		if k := taskOf(m); k.what != "" {
			out = append(out, k)
		}
	}
	return out
}

// tasksOf are the tasks of an operation that named its members.
func (s *Server) tasksOf(op *operation) (out []task) {
	s.read(func(t *tx) {
		for _, id := range texts(op.Args, "members") {
			if d := t.find(id); d != nil && str(d.Hidden, "todo") != "" {
				out = append(out, taskOf(d))
			}
		}
	})
	return out
}

// launches lets each task begin once in this process, and the tasks of one member
// one after the other, whatever operations carry them.
type launches struct {
	mu sync.Mutex
	m  map[string]*launch
}

// launch is the last task of a member that has begun.
type launch struct {
	mu  sync.Mutex
	key string
	// failed is how the beginning of a boot failed.
	failed *Error
	// claimed is the task whose extensions an operation is running.
	claimed string
}

// claim lets one operation at a time run the extensions of a task.
func (l *launches) claim(k task) bool {
	e := l.of(k.id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.claimed == k.key {
		return false
	}
	e.claimed = k.key
	return true
}

func (l *launches) release(k task) {
	e := l.of(k.id)
	l.mu.Lock()
	defer l.mu.Unlock()
	e.claimed = ""
}

func (l *launches) of(id string) *launch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[string]*launch{}
	}
	if l.m[lower(id)] == nil {
		l.m[lower(id)] = &launch{}
	}
	return l.m[lower(id)]
}

func (l *launches) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.m)
}

func (l *launches) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.m, lower(id))
}

// launchOnce begins a task that has not begun and is still its member's. It uses
// the server's life and not the operation's: one that takes over relies on it.
func (s *Server) launchOnce(k task) {
	l := computeOf(s).begun.of(k.id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == k.key {
		return
	}
	current := false
	s.read(func(t *tx) {
		d := t.find(k.id)
		// A VM of a Flexible set may be deleted on its own.
		current = d != nil && str(d.Hidden, "task") == k.key && (k.what == taskDelete || !isDeleting(d))
	})
	if current {
		l.failed = s.carryOut(s.ctx, k)
		l.key = k.key
	}
}

// launchFailure is how a task failed before its guest began; nil if it did not.
func (s *Server) launchFailure(k task) *Error {
	l := computeOf(s).begun.of(k.id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != k.key {
		return nil
	}
	return l.failed
}

// atOnce bounds the guests that are ended at the same time.
const atOnce = 16

// each calls fn for each task, some at once.
func each(tasks []task, fn func(task)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, k := range tasks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			fn(k)
		})
	}
	wg.Wait()
}

// perform does tasks and waits until each is done, has failed, or has been
// superseded. Members become ready one by one; the first failure is returned.
func (s *Server) perform(ctx context.Context, op *operation, tasks []task) *Error {
	each(tasks, func(k task) { s.launchOnce(k) })
	if s.until(ctx, op.Due) != nil {
		return errStopping()
	}
	var failed *Error
	var extensions sync.WaitGroup
	defer extensions.Wait()
	results := make(chan *Error, len(tasks))
	running := 0
	for len(tasks) > 0 || running > 0 {
		changed := s.changed()
		var ready, plain []task
		tasks = slices.DeleteFunc(tasks, func(k task) bool {
			done, e := s.outcome(k)
			switch {
			case e != nil:
				s.complete(k, e)
				failed = firstError(failed, e)
			case done && s.bringsExtensions(k):
				if done = computeOf(s).begun.claim(k); done {
					ready = append(ready, k)
				}
			case done:
				plain = append(plain, k)
			}
			return done || e != nil
		})
		for _, k := range ready {
			running++
			extensions.Go(func() {
				e := s.runModelExtensions(ctx, k.id)
				if ctx.Err() == nil {
					s.complete(k, e)
				} else {
					computeOf(s).begun.release(k)
				}
				results <- e
			})
		}
		s.completeAll(plain)
		if len(tasks) == 0 && running == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return errStopping()
		case e := <-results:
			running--
			failed = firstError(failed, e)
		case <-changed:
		}
	}
	return failed
}

func firstError(a, b *Error) *Error {
	if a != nil {
		return a
	}
	return b
}

func errStopping() *Error {
	return refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
}

// carryOut does the part of a task that does not wait for the guest.
func (s *Server) carryOut(ctx context.Context, k task) *Error {
	m := hostOf(s)
	if m == nil {
		return nil
	}
	switch k.what {
	case taskDelete, taskReimage:
		end, cancel := context.WithTimeout(ctx, deleteTimeout)
		defer cancel()
		if err := m.Delete(end, k.id); err != nil && ctx.Err() == nil {
			s.log.Error(err, "A guest did not end; the platform takes its machine away", "vm", k.id)
		}
	case taskStop, taskDeallocate, taskRestart:
		m.Stop(k.id)
	}
	switch k.what {
	case taskBoot, taskReimage, taskRestart, taskStart:
		vm, ok := s.machine(k.id)
		if !ok || ctx.Err() != nil {
			return nil
		}
		if k.what == taskBoot || k.what == taskReimage {
			if e := s.bootFault(ctx, vm); e != nil {
				return e
			}
		}
		m.Start(vm)
	}
	return nil
}

// outcome says whether a task has come to its end, or how it failed. One that is
// no longer its member's is at its end.
func (s *Server) outcome(k task) (done bool, e *Error) {
	current, name := false, ""
	s.read(func(t *tx) {
		if d := t.find(k.id); d != nil {
			current, name = str(d.Hidden, "task") == k.key, instanceName(d)
		}
	})
	if !current || hostOf(s) == nil || k.what != taskBoot && k.what != taskReimage {
		return true, nil
	}
	if e := s.launchFailure(k); e != nil {
		return true, e
	}
	switch view := hostOf(s).View(k.id); view.Provisioned {
	case ProvisioningReady:
		return true, nil
	case ProvisioningFailed:
		return true, conflict("OSProvisioningClientError", "OS Provisioning for VM '%s' failed. Error details: %s", name, view.Message)
	}
	return false, nil
}

func (s *Server) complete(k task, e *Error) { s.settle([]task{k}, e) }

func (s *Server) completeAll(tasks []task) {
	if len(tasks) > 0 {
		s.settle(tasks, nil)
	}
}

// settle writes the end of tasks into their members.
func (s *Server) settle(tasks []task, e *Error) {
	err := s.update(func(t *tx) error {
		for _, k := range tasks {
			t.settleOne(k, e)
		}
		return nil
	})
	if err != nil {
		s.log.Error(err, "The end of a task could not be kept")
	}
	for _, k := range tasks {
		switch k.what {
		case taskDelete:
			computeOf(s).begun.forget(k.id)
		case taskBoot, taskStart:
			if e == nil {
				s.threaten(k.id)
			}
		}
	}
}

func (t *tx) settleOne(k task, e *Error) {
	d := t.edit(k.id)
	if d == nil || str(d.Hidden, "task") != k.key {
		return
	}
	if k.what == taskDelete && e == nil {
		t.dropMember(d)
		return
	}
	delete(d.Hidden, "todo")
	delete(d.Hidden, "task")
	d.settle(e)
	switch k.what {
	case taskStop:
		d.Hidden["power"] = "stopped"
	case taskDeallocate:
		d.Hidden["power"] = "deallocated"
	case taskTouch:
	default:
		d.Hidden["power"] = "running"
	}
	t.put(d)
}
