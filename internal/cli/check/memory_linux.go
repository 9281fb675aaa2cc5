package check

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetStart unmaps the pages of the program file that were mapped at the start: Go initializes all linked packages,
// and Linux maps pages around each used page. A page that is used again comes from the page cache.
func forgetStart() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	var mapped []string // the line of the current mapping, if the mapping is of the program file and read-only
	for line := range strings.Lines(string(smaps)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 4 && !strings.HasSuffix(fields[0], ":"):
			if mapped = fields; len(fields) < 6 || strings.Join(fields[5:], " ") != program || strings.Contains(fields[1], "w") {
				mapped = nil
			}
		case len(mapped) > 0 && fields[0] == "Anonymous:" && fields[1] == "0": // the pages are unchanged
			giveBack(mapped[0])
		}
	}
}

// giveBack unmaps the pages in a range of addresses until they are used again.
func giveBack(addresses string) {
	from, to, _ := strings.Cut(addresses, "-")
	begin, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return
	}
	end, err := strconv.ParseUint(to, 16, 64)
	if err != nil {
		return
	}
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(begin), uintptr(end-begin), unix.MADV_DONTNEED) // the call is only advice
}
