package mcp_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"casement.dev/casement/internal/mcp"
)

// TestOddRequestsEndNothing sends requests that no real client sends, and after each a valid one.
func TestOddRequestsEndNothing(t *testing.T) {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := mcp.Serve(t.Context(), mcp.Config{Version: "test", Docs: fstest.MapFS{"a.md": {Data: []byte("# A\n")}}}, requests, answers)
		answers.CloseWithError(io.EOF)
		done <- err
	}()
	lines, id := bufio.NewReader(out), 0
	ask := func(method, params string) (result, failed json.RawMessage) {
		t.Helper()
		id++
		if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":`+strconv.Itoa(id)+`,"method":"`+method+`","params":`+params+"}\n"); err != nil {
			t.Fatalf("%s %s: %v", method, params, err)
		}
		line, err := lines.ReadString('\n')
		var answer struct {
			ID            int
			Result, Error json.RawMessage
		}
		if err != nil || json.Unmarshal([]byte(line), &answer) != nil || answer.ID != id {
			t.Fatalf("%s %s: %q, %v", method, params, line, err)
		}
		return answer.Result, answer.Error
	}
	ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []struct{ method, params string }{
		{"resources/read", `{"uri":"casement://docs/a.md\u0000"}`},
		{"resources/read", `{"uri":"casement://docs/\u001b[31m"}`},
		{"resources/read", `{"uri":"\ud800"}`},
		{"resources/read", `{"uri":"casement://docs/../../etc/passwd"}`},
		{"tools/call", `{"name":"\u0000","arguments":{}}`},
		{"prompts/get", `{"name":"\u0000"}`},
		{`\u0000`, `{}`},
	} {
		if _, failed := ask(odd.method, odd.params); failed == nil {
			t.Errorf("%s %s is answered", odd.method, odd.params)
		}
		if page, _ := ask("resources/read", `{"uri":"casement://docs/a.md"}`); !strings.Contains(string(page), "# A") {
			t.Errorf("after %s %s the page is %s", odd.method, odd.params, page)
		}
	}
	in.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
