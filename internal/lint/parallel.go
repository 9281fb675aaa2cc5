package lint

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// maxWorkers is the maximum number of concurrent parsers, which limits their memory.
const maxWorkers = 8

// each calls fn for 0 to n-1, on all cores.
func each(n int, fn func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			fn(int(i))
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
