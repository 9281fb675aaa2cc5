package guest

import (
	"bytes"
	"context"
	"io"
	"sync"

	"golang.org/x/term"

	"casement.dev/casement/internal/contain"
)

// Bytes that a terminal sends for keys.
const (
	ctrlC = 0x03
	ctrlU = 0x15
)

// longestTyping bounds the input, in bytes, that is typed ahead while a command runs.
const longestTyping = 64 << 10

// keyboard is a user's input on a terminal. It is read all the time, so that Ctrl-C ends the running command. If no
// command runs, Ctrl-C discards the line.
type keyboard struct {
	io.Writer

	mu     sync.Mutex
	grown  *sync.Cond
	typed  []byte
	ended  error
	cancel context.CancelFunc
}

// newKeyboard returns a keyboard that reads stream until its end.
func newKeyboard(stream io.ReadWriter, wall *contain.Wall) *keyboard {
	k := &keyboard{Writer: stream}
	k.grown = sync.NewCond(&k.mu)
	wall.Go(nil, "terminal", func() { k.pump(stream) })
	return k
}

// pump reads keys until the end of in. Ctrl-C cancels the running command; without a command, the shell gets keys
// that drop the line.
func (k *keyboard) pump(in io.Reader) {
	b := make([]byte, 1024)
	for {
		n, err := in.Read(b)
		k.mu.Lock()
		keys := b[:n]
		if i := bytes.LastIndexByte(keys, ctrlC); i >= 0 && k.cancel != nil {
			k.cancel()
			k.typed, keys = nil, keys[i+1:]
		}
		keys = bytes.ReplaceAll(keys, []byte{ctrlC}, []byte{ctrlU, '\r'})
		k.typed = append(k.typed, keys[:min(len(keys), max(longestTyping-len(k.typed), 0))]...)
		k.ended = err
		k.grown.Broadcast()
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read returns the user's input.
func (k *keyboard) Read(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.typed) == 0 && k.ended == nil {
		k.grown.Wait()
	}
	if len(k.typed) == 0 {
		return 0, k.ended
	}
	n := copy(b, k.typed)
	k.typed = k.typed[n:]
	return n, nil
}

// command returns a context for a command. Ctrl-C cancels the context until done is called.
func (k *keyboard) command(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cancel = cancel
	return ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.cancel = nil
		cancel()
	}
}

// tty is a terminal and its keyboard.
type tty struct {
	*term.Terminal
	keys *keyboard
}

func newTTY(stream io.ReadWriter, wall *contain.Wall) *tty {
	keys := newKeyboard(stream, wall)
	return &tty{term.NewTerminal(keys, ""), keys}
}
