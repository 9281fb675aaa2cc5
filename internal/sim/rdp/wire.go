package rdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// longest is the longest message of a client that is read, in bytes.
const longest = 32 << 10

var errShort = errors.New("a message is too short")

// reader parses a message. After the first read beyond the message's end, all reads return zeros,
// and failed is true.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest, r.failed = nil, true
		return make([]byte, max(0, min(n, 8)))
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) u8() byte         { return r.take(1)[0] }
func (r *reader) be16() uint16     { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) le16() uint16     { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) le32() uint32     { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) sub(n int) reader { return reader{rest: r.take(n), failed: r.failed} }

func (r *reader) err() error {
	if r.failed {
		return errShort
	}
	return nil
}

// ber reads the header of a BER value with a tag and returns the value. A tag of 0x7f00 or more has
// two bytes.
func (r *reader) ber(tag uint16) reader {
	got := uint16(r.u8())
	if got == 0x7f {
		got = got<<8 | uint16(r.u8())
	}
	if got != tag {
		r.rest, r.failed = nil, true
	}
	n := int(r.u8())
	switch n {
	case 0x81:
		n = int(r.u8())
	case 0x82:
		n = int(r.be16())
	}
	return r.sub(n)
}

// per reads a PER length.
func (r *reader) per() int {
	n := int(r.u8())
	if n&0x80 != 0 {
		n = n&0x7f<<8 | int(r.u8())
	}
	return n
}

// ber returns a BER value with its header.
func ber(tag uint16, value ...byte) []byte {
	var out []byte
	if tag > 0xff {
		out = append(out, byte(tag>>8))
	}
	out = append(out, byte(tag), 0x82)
	return append(binary.BigEndian.AppendUint16(out, uint16(len(value))), value...)
}

// per returns a value that is preceded by its PER length.
func per(value []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(value))|0x8000), value...)
}

func le(values ...uint16) (out []byte) {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint16(out, v)
	}
	return out
}

// readTPKT reads one message and returns its payload. It returns none for a fast-path message
// ([MS-RDPBCGR] 2.2.8.1.2), which is input.
func readTPKT(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return nil, err
	}
	if head[0] != 3 {
		return nil, skipFastPath(r, head)
	}
	if _, err := io.ReadFull(r, head[2:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(head[2:]))
	if n < 7 || n > longest {
		return nil, fmt.Errorf("a message claims %d bytes", n)
	}
	body := make([]byte, n-4)
	_, err := io.ReadFull(r, body)
	return body, err
}

func skipFastPath(r io.Reader, head [4]byte) error {
	if head[0]&3 != 0 {
		return errors.New("it speaks no RDP")
	}
	n, have := int(head[1]), 2
	if n&0x80 != 0 {
		if _, err := io.ReadFull(r, head[2:3]); err != nil {
			return err
		}
		n, have = n&0x7f<<8|int(head[2]), 3
	}
	if n < have {
		return errShort
	}
	_, err := io.CopyN(io.Discard, r, int64(n-have))
	return err
}

// tpkt returns a message with its header.
func tpkt(body []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{3, 0}, uint16(len(body)+4)), body...)
}
