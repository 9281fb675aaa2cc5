package compute

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// Tasks of a member of a scale set. A task is stored in the member's document until it is done, so
// that the task continues after a restart and a later operation on the set can continue it.
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

// task is a task of one member; key distinguishes it from later tasks of the member.
type task struct{ id, what, key string }

// assign gives a member a task and replaces its previous task.
func assign(t *engine.Tx, d *engine.Doc, what string) *engine.Doc {
	e := t.Edit(d.ID)
	state := "Updating"
	switch what {
	case taskBoot:
		state = "Creating"
	case taskDelete:
		state = "Deleting"
	}
	value.Props(e.Body)["provisioningState"] = state
	e.Hidden["todo"], e.Hidden["task"] = what, uuid.NewString()
	t.Put(e)
	return e
}

func taskOf(d *engine.Doc) task {
	return task{id: d.ID, what: value.Str(d.Hidden, "todo"), key: value.Str(d.Hidden, "task")}
}

// openTasks returns the unfinished tasks of a set's members.
func openTasks(t *engine.Tx, set string) []task {
	d := t.Find(set)
	if d == nil {
		return nil
	}
	var out []task
	for _, m := range members(t, d) {
		if k := taskOf(m); k.what != "" {
			out = append(out, k)
		}
	}
	return out
}

// tasksOf returns the tasks of an operation on named members.
func tasksOf(s *engine.Server, op *engine.Operation) (out []task) {
	s.Read(func(t *engine.Tx) {
		for _, id := range value.Texts(op.Args, "members") {
			if d := t.Find(id); d != nil && value.Str(d.Hidden, "todo") != "" {
				out = append(out, taskOf(d))
			}
		}
	})
	return out
}

// launches ensures that each task begins once in this process, and that the tasks of one member run
// one after another, also if several operations run them.
type launches struct {
	mu sync.Mutex
	m  map[string]*launch
}

// launch is the latest task of a member that has begun.
type launch struct {
	mu  sync.Mutex
	key string
	// failed is the error that prevented the boot from starting.
	failed *engine.Error
	// claimed is the key of the task whose extensions an operation is running.
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
	if l.m[value.Lower(id)] == nil {
		l.m[value.Lower(id)] = &launch{}
	}
	return l.m[value.Lower(id)]
}

func (l *launches) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.m)
}

func (l *launches) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.m, value.Lower(id))
}

// launchOnce begins a task unless it has begun or a later task has replaced it. It uses the
// server's context and not the operation's, because a later operation that continues the task
// relies on its effects.
func launchOnce(s *engine.Server, k task) {
	l := computeOf(s).begun.of(k.id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == k.key {
		return
	}
	current := false
	s.Read(func(t *engine.Tx) {
		d := t.Find(k.id)
		// A VM of a Flexible set can be deleted by a request of its own.
		current = d != nil && value.Str(d.Hidden, "task") == k.key && (k.what == taskDelete || !isDeleting(d))
	})
	if current {
		l.failed = carryOut(s, s.Life, k)
		l.key = k.key
	}
}

// launchFailure returns the error that prevented a task from starting its guest, or nil.
func launchFailure(s *engine.Server, k task) *engine.Error {
	l := computeOf(s).begun.of(k.id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != k.key {
		return nil
	}
	return l.failed
}

// atOnce limits the number of guests that are stopped at the same time.
const atOnce = 16

// each calls fn for each task, up to atOnce of them at the same time.
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

// perform performs tasks and waits until each is done, has failed, or has been replaced. Members
// become ready one by one; the first failure is returned.
func perform(s *engine.Server, ctx context.Context, op *engine.Operation, tasks []task) *engine.Error {
	each(tasks, func(k task) { launchOnce(s, k) })
	if s.Until(ctx, op.Due) != nil {
		return errStopping()
	}
	var failed *engine.Error
	var extensions sync.WaitGroup
	defer extensions.Wait()
	results := make(chan *engine.Error, len(tasks))
	running := 0
	seen := revisions{}
	for len(tasks) > 0 || running > 0 {
		changed, began := s.Changed(), s.Clock.Now()
		var ready, plain []task
		tasks = slices.DeleteFunc(tasks, func(k task) bool {
			done, e := taskResult(s, k, seen)
			switch {
			case e != nil:
				complete(s, k, e)
				failed = firstError(failed, e)
			case done && bringsExtensions(s, k):
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
				e := runModelExtensions(s, ctx, k.id)
				if ctx.Err() == nil {
					complete(s, k, e)
				} else {
					computeOf(s).begun.release(k)
				}
				results <- e
			})
		}
		completeAll(s, plain)
		if len(tasks) == 0 && running == 0 {
			break
		}
		rest := min(restFactor*s.Clock.Since(began), longestRest)
		select {
		case <-ctx.Done():
			return errStopping()
		case e := <-results:
			running--
			failed = firstError(failed, e)
		case <-changed:
			if s.Until(ctx, s.Clock.Now().Add(rest)) != nil {
				return errStopping()
			}
		}
	}
	return failed
}

// After each check of all its tasks an operation pauses for restFactor times the duration of the
// check, but at most longestRest. Each of a thousand guests makes a dozen changes, and each change
// causes a check.
const (
	restFactor  = 5
	longestRest = time.Second
)

func firstError(a, b *engine.Error) *engine.Error {
	if a != nil {
		return a
	}
	return b
}

func errStopping() *engine.Error {
	return engine.Refuse(http.StatusServiceUnavailable, "ServerTimeout", "The local Azure is stopping.")
}

// carryOut does the part of a task that does not wait for the guest's boot.
func carryOut(s *engine.Server, ctx context.Context, k task) *engine.Error {
	m := hostOf(s)
	if m == nil {
		return nil
	}
	switch k.what {
	case taskDelete, taskReimage:
		end, cancel := context.WithTimeout(ctx, deleteTimeout)
		defer cancel()
		if err := m.Delete(end, k.id); err != nil && ctx.Err() == nil {
			s.Log.Error(err, "A guest did not end; the platform takes its machine away", "vm", k.id)
		}
	case taskStop, taskDeallocate, taskRestart:
		m.Stop(k.id)
	}
	switch k.what {
	case taskBoot, taskReimage, taskRestart, taskStart:
		vm, ok := machineNamed(s, k.id)
		if !ok || ctx.Err() != nil {
			return nil
		}
		if k.what == taskBoot || k.what == taskReimage {
			if e := bootFault(s, ctx, vm); e != nil {
				return e
			}
		}
		m.Start(vm)
	}
	return nil
}

// revisions maps the ID of each member to the revision of its document that was found to contain
// the task.
type revisions map[string]uint64

// current reports whether a task is still its member's task. A document that has not changed since
// it was found to contain the task is not read again: with a thousand members, reading all
// documents was a third of the cost of a check.
func (r revisions) current(s *engine.Server, k task) (current bool) {
	s.Read(func(t *engine.Tx) {
		record := t.Record(k.id)
		if record == nil {
			return
		}
		if rev, ok := r[k.id]; ok && rev == record.Rev {
			current = true
			return
		}
		if d := t.Find(k.id); d != nil && value.Str(d.Hidden, "task") == k.key {
			r[k.id], current = record.Rev, true
		}
	})
	return current
}

// taskResult reports whether a task is done, or the error with which it failed. A task that another
// task replaced counts as done.
func taskResult(s *engine.Server, k task, seen revisions) (done bool, e *engine.Error) {
	if !seen.current(s, k) || hostOf(s) == nil || k.what != taskBoot && k.what != taskReimage {
		return true, nil
	}
	if e := launchFailure(s, k); e != nil {
		return true, e
	}
	switch view := hostOf(s).View(k.id); view.Provisioned {
	case host.ProvisioningReady:
		return true, nil
	case host.ProvisioningFailed:
		name := ""
		s.Read(func(t *engine.Tx) {
			if d := t.Find(k.id); d != nil {
				name = instanceName(d)
			}
		})
		return true, engine.Conflict("OSProvisioningClientError",
			"OS Provisioning for VM '%s' failed. Error details: %s", name, view.Message)
	}
	return false, nil
}

func complete(s *engine.Server, k task, e *engine.Error) { settle(s, []task{k}, e) }

func completeAll(s *engine.Server, tasks []task) {
	if len(tasks) > 0 {
		settle(s, tasks, nil)
	}
}

// settle writes the result of tasks into the documents of their members.
func settle(s *engine.Server, tasks []task, e *engine.Error) {
	err := s.Update(func(t *engine.Tx) error {
		for _, k := range tasks {
			settleOne(t, k, e)
		}
		return nil
	})
	if err != nil {
		s.Log.Error(err, "The end of a task could not be kept")
	}
	for _, k := range tasks {
		switch k.what {
		case taskDelete:
			computeOf(s).begun.forget(k.id)
		case taskBoot, taskStart:
			if e == nil {
				scheduleEviction(s, k.id)
			}
		}
	}
}

func settleOne(t *engine.Tx, k task, e *engine.Error) {
	d := t.Edit(k.id)
	if d == nil || value.Str(d.Hidden, "task") != k.key {
		return
	}
	if k.what == taskDelete && e == nil {
		dropMember(t, d)
		return
	}
	delete(d.Hidden, "todo")
	delete(d.Hidden, "task")
	d.Settle(e)
	switch k.what {
	case taskStop:
		d.Hidden["power"] = "stopped"
	case taskDeallocate:
		d.Hidden["power"] = "deallocated"
	case taskTouch:
	default:
		d.Hidden["power"] = "running"
	}
	t.Put(d)
}
