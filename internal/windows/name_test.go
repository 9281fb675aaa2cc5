package windows

import (
	"strings"
	"testing"
)

func TestComputerName(t *testing.T) {
	taken := func(names ...string) func(string) bool {
		return func(n string) bool {
			for _, other := range names {
				if strings.EqualFold(n, other) {
					return true
				}
			}
			return false
		}
	}
	for _, tc := range []struct {
		machine string
		taken   func(string) bool
		want    string
	}{
		{machine: "win1", want: "win1"},
		{machine: "abcdefghijklmno", want: "abcdefghijklmno"},
		{machine: "abcdefghijklmnop", want: "abcdefghi-lmnop"},
		{machine: "my-cluster-md-win-abcde", want: "my-cluste-abcde"},
		{machine: "my-clust-md-win-x7k2p", want: "my-clust-x7k2p"},
		{machine: "capi-quickstart-md-win-6f9d8b7c5x4v2hj-q8wzt", want: "capi-quic-q8wzt"},
		{machine: "averylongname-1234", want: "averylong--1234"},
		{machine: "a--------b-12345", want: "a--------12345"},
		{machine: "m6-wrk-p0-win-bea41bbfdc9f6361-vnhz5", want: "m6-wrk-p0-vnhz5"},
		{machine: "my-cluster-md-win-abcde", taken: taken("other"), want: "my-cluste-abcde"},
		{machine: "my-cluster-md-win-abcde", taken: taken("MY-CLUSTE-ABCDE"), want: "my-cluste-" + hash("my-cluster-md-win-abcde", 0)},
		{machine: "my-cluster-md-win-abcde",
			taken: taken("my-cluste-abcde", "my-cluste-"+hash("my-cluster-md-win-abcde", 0)),
			want:  "my-cluste-" + hash("my-cluster-md-win-abcde", 1)},
		{machine: "web.prod", want: "web-prod-" + hash("web.prod", 0)},
		{machine: "a.very.long.name-1.2.3", want: "a-very-lo-" + hash("a.very.long.name-1.2.3", 0)},
		{machine: "12345", want: "12345-" + hash("12345", 0)},
		{machine: "win.", want: "win-" + hash("win.", 0)},
		{machine: "0123456789012345", want: "012345678-12345"},
	} {
		t.Run(tc.machine, func(t *testing.T) {
			got := ComputerName(tc.machine, tc.taken)
			if got != tc.want {
				t.Errorf("ComputerName(%q) = %q, want %q", tc.machine, got, tc.want)
			}
			if len(got) > MaxComputerName {
				t.Errorf("%q has %d characters", got, len(got))
			}
		})
	}
}

func TestScaleSetName(t *testing.T) {
	for _, tc := range []struct {
		pool  string
		taken string
		want  string
	}{
		{pool: "winpool", want: "winpool"},
		{pool: "pool-win1", want: "pool-win1"},
		{pool: "pool-win10", want: "win-win10"},
		{pool: "my-cluster-mp-win", want: "win-p-win"},
		{pool: "prod-mp-win-0", want: "win-win-0"},
		{pool: "x-windows-pool", want: "win--pool"},
		{pool: "a-very-long-pool-", want: "win-pool-"},
		{pool: "other-mp-win", taken: "win-p-win", want: "win-" + hash("other-mp-win", 0)},
		{pool: "1234", want: "win-" + hash("1234", 0)},
	} {
		got := ScaleSetName(tc.pool, func(n string) bool { return n == tc.taken })
		if got != tc.want || len(got) > MaxScaleSetName {
			t.Errorf("ScaleSetName(%q) = %q, want %q", tc.pool, got, tc.want)
		}
	}
}

func FuzzComputerName(f *testing.F) {
	f.Add("my-cluster-md-win-abcde")
	f.Add("1.2.3")
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || len(name) > 253 {
			return
		}
		got := ComputerName(name, nil)
		if len(got) > MaxComputerName || strings.Contains(got, ".") || strings.Trim(got, "0123456789") == "" {
			t.Errorf("ComputerName(%q) = %q", name, got)
		}
		if again := ComputerName(name, nil); again != got {
			t.Errorf("ComputerName(%q) = %q, then %q", name, got, again)
		}
	})
}
