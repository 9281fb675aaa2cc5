package freeport

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestChoose: ports chosen together differ and can be listened on. If each of 200 out of 10,000 were chosen
// alone, two would be equal with a probability of 86 %.
func TestChoose(t *testing.T) {
	ports, err := Choose("127.0.0.1", 200)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

func TestChooseNamesTheHost(t *testing.T) {
	// 192.0.2.0/24 is for documentation (RFC 5737), so no machine has it.
	if _, err := Choose("192.0.2.1", 1); err == nil || !strings.Contains(err.Error(), "free port of 192.0.2.1") {
		t.Error(err)
	}
}
