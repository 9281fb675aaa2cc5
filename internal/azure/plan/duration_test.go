package plan

import (
	"testing"
	"time"
)

// TestDurations: an operation is first polled after the time that earlier operations of its type took, and
// never before Azure's Retry-After.
func TestDurations(t *testing.T) {
	const retry = 10 * time.Second
	vm := vms + "a"
	for _, test := range []struct {
		name       string
		id         string
		ended      func(*durations)
		retryAfter time.Duration
		want       time.Duration
	}{
		{"nothing is known", vms + "a/extensions/e", func(*durations) {}, 0, 0},
		{"Azure says when", vms + "a/extensions/e", func(*durations) {}, retry, retry},
		{"the first machine", vm, func(*durations) {}, retry, typicalMachine},
		{"in an Azure that is faster", vm, func(*durations) {}, 5 * time.Millisecond, 5 * time.Millisecond},
		{"a network resource without Retry-After", nets + "natGateways/n", func(*durations) {}, 0, typicalNetwork},
		{"as Azure says the last one lasted", vm,
			func(d *durations) { d.ended(vms+"b", Put, 40*time.Second, 32*time.Second) }, retry, 32 * time.Second},
		{"of another verb", vm, func(d *durations) { d.ended(vm, Delete, 0, 40*time.Second) }, retry, typicalMachine},
		{"a little less than it was seen to last", vm, func(d *durations) { d.ended(vm, Put, 50*time.Second, 0) }, retry, 49 * time.Second},
		{"shorter at once", vm,
			func(d *durations) { d.ended(vm, Put, 0, 32*time.Second); d.ended(vm, Put, 0, 16*time.Second) }, retry,
			16 * time.Second},
		{"longer by a quarter", vm,
			func(d *durations) { d.ended(vm, Put, 0, 16*time.Second); d.ended(vm, Put, 0, 32*time.Second) }, retry,
			20 * time.Second},
		{"not before Retry-After", vm, func(d *durations) { d.ended(vm, Put, 0, time.Second) }, retry, retry},
		{"a minute at most", vm, func(d *durations) { d.ended(vm, Put, 0, time.Hour) }, retry, longestExpected},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &durations{}
			test.ended(d)
			if got := d.expected(test.id, Put, test.retryAfter); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
