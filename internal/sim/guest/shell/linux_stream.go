package shell

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// stream is the input of a command, which is read only as far as necessary, because a pipe may have no end: yes | sed
// 2q. It also ends if nothing reads the output of the command.
type stream struct {
	p    *Process
	in   *bufio.Reader
	kept int // the memory of the text that until returned last
}

// streamPart is the number of bytes that one read of a stream returns at most.
const streamPart = 64 << 10

// open opens a file, or standard input for "-".
func (p *Process) open(name string) (*stream, error) {
	if (name == "-" || p.Abs(name) == "/dev/stdin") && p.Stdin != nil {
		return &stream{p: p, in: bufio.NewReaderSize(p.Stdin, streamPart)}, nil
	}
	data, err := p.read(name)
	return &stream{p: p, in: bufio.NewReader(bytes.NewReader(data))}, err
}

// until returns the text up to and including the next end byte, or the rest. ok is false at the end of the stream.
func (s *stream) until(end byte) (text string, ok bool) {
	s.p.meter.Step()
	s.p.meter.Hold(-s.kept)
	s.kept = 0
	if s.p.unread() {
		return "", false
	}
	part, err := s.in.ReadSlice(end)
	if err == nil {
		return string(part), true
	}
	var whole []byte
	for ; ; part, err = s.in.ReadSlice(end) {
		s.p.meter.Look()
		s.p.meter.Hold(copies * len(part))
		s.kept += copies * len(part)
		whole = append(whole, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(whole), len(whole) > 0
		}
	}
}

// line returns the next line with its newline.
func (s *stream) line() (string, bool) { return s.until('\n') }

// read returns the next bytes; none at the end.
func (s *stream) read(buffer []byte) []byte {
	s.p.meter.Look()
	for !s.p.unread() {
		n, err := s.in.Read(buffer)
		if n > 0 || err != nil {
			return buffer[:n]
		}
	}
	return nil
}

// unread reports whether nothing reads the output of the process, so that SIGPIPE ends the program.
func (p *Process) unread() bool {
	c, counted := p.Stdout.(*counter)
	p.cut = p.cut || counted && c.failed.Load()
	return p.cut
}

// pipeCode is the exit code of a program whose output nothing reads: 128 and the number of SIGPIPE.
const pipeCode = 141

// streams is the concatenation of files.
type streams struct {
	p          *Process
	files      []string
	unreadable func(name string, err error)
	now        *stream
	code       int
}

// opened returns the files that a command names, or its standard input. For a file that cannot be read, it writes an
// error, sets the code and skips the file.
func (p *Process) opened(files []string) *streams {
	s := &streams{p: p, files: orStdin(files)}
	s.unreadable = func(name string, err error) { s.code = p.failed(name, err) }
	return s
}

// next opens the next file. It returns false after the last.
func (s *streams) next() bool {
	for s.now = nil; s.now == nil && len(s.files) > 0 && !s.p.unread(); s.files = s.files[1:] {
		in, err := s.p.open(s.files[0])
		if err != nil {
			s.unreadable(s.files[0], err)
			continue
		}
		s.now = in
	}
	return s.now != nil
}

// line returns the next line, with its newline.
func (s *streams) line() (text string, ok bool) { return s.until('\n') }

// until returns the text up to and including the next end byte.
func (s *streams) until(end byte) (text string, ok bool) {
	for s.now != nil || s.next() {
		if text, ok = s.now.until(end); ok {
			return text, true
		}
		s.now = nil
	}
	return "", false
}

// Read implements io.Reader.
func (s *streams) Read(buffer []byte) (int, error) {
	for s.now != nil || s.next() {
		if part := s.now.read(buffer); len(part) > 0 {
			return len(part), nil
		}
		s.now = nil
	}
	return 0, io.EOF
}

// eachLine calls f for each line of files, without its newline.
func (p *Process) eachLine(files []string, f func(line string)) (code int) {
	in := p.opened(files)
	for line, ok := in.line(); ok; line, ok = in.line() {
		if end := len(line) - 1; line[end] == '\n' {
			line = line[:end]
		}
		f(line)
	}
	return in.code
}
