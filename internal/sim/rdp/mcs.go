package rdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Kinds of MCS messages, in their first byte: T.125, 7.
const (
	mcsErectDomain  = 0x04
	mcsDisconnect   = 0x20
	mcsAttachUser   = 0x28
	mcsAttached     = 0x2e
	mcsJoinChannel  = 0x38
	mcsJoined       = 0x3e
	mcsSend         = 0x64
	mcsIndication   = 0x68
	mcsConnect      = 0x7f65
	mcsConnected    = 0x7f66
	berOctets       = 0x04
	berEnumerated   = 0x0a
	berInteger      = 0x02
	berSequence     = 0x30
	berBoolean      = 0x01
	firstUser       = 1001
	userID          = 1007
	ioChannel       = 1003
	firstOfClient   = 1008
	manyChannels    = 31
	widest, tallest = 3840, 2160
)

// Blocks of the GCC conference data: [MS-RDPBCGR] 2.2.1.3.1.
const (
	clientCore     = 0xc001
	clientNetwork  = 0xc003
	serverCore     = 0x0c01
	serverSecurity = 0x0c02
	serverNetwork  = 0x0c03
	// version5 is the version number of RDP 5.0 to 8.1.
	version5 = 0x00080004
)

// t124 begins the data of a GCC conference: the key of T.124 as an object identifier.
var t124 = []byte{0, 5, 0, 0x14, 0x7c, 0, 1}

// wanted contains the settings that a client requests in MCS Connect Initial.
type wanted struct {
	width, height int
	// channels is the number of virtual channels that the client requests.
	channels int
}

// data returns the payload of an X.224 data message.
func data(body []byte) (reader, error) {
	r := reader{rest: body}
	if head := r.take(3); r.failed || head[0] != 2 || head[1] != 0xf0 {
		return r, errors.New("the message has no data")
	}
	return r, nil
}

// parseConnect parses an MCS Connect Initial.
func parseConnect(body []byte) (wanted, error) {
	r, err := data(body)
	if err != nil {
		return wanted{}, err
	}
	r = r.ber(mcsConnect)
	for _, tag := range []uint16{berOctets, berOctets, berBoolean, berSequence, berSequence, berSequence} {
		r.ber(tag) // selectors, a flag and the parameters of the domain
	}
	r = r.ber(berOctets)
	if key := r.take(len(t124)); r.failed || !slices.Equal(key, t124) {
		return wanted{}, errors.New("MCS Connect Initial has no GCC conference")
	}
	r.per()
	r.take(12) // the parameters of the request, up to the key "Duca" of its user data
	r.per()
	return parseBlocks(r)
}

// parseBlocks parses the blocks of a client's settings.
func parseBlocks(r reader) (wanted, error) {
	var w wanted
	for len(r.rest) > 0 && !r.failed {
		kind, n := r.le16(), int(r.le16())
		block := r.sub(n - 4)
		switch kind {
		case clientCore:
			block.le32() // the version
			w.width, w.height = int(block.le16()), int(block.le16())
		case clientNetwork:
			w.channels = int(block.le32())
		}
		if block.failed {
			return w, errShort
		}
	}
	if w.width < 1 || w.height < 1 || w.width > widest || w.height > tallest {
		return w, fmt.Errorf("it asks for a screen of %d by %d", w.width, w.height)
	}
	if w.channels > manyChannels {
		return w, fmt.Errorf("it asks for %d channels", w.channels)
	}
	return w, r.err()
}

// connected returns the MCS Connect Response to a client.
func connected(w wanted, protocols uint32) []byte {
	block := func(kind uint16, value []byte) []byte {
		return append(le(kind, uint16(len(value)+4)), value...)
	}
	core := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, version5), protocols)
	channels := le(ioChannel, uint16(w.channels))
	for i := range w.channels {
		channels = append(channels, le(uint16(firstOfClient+i))...)
	}
	if w.channels%2 == 1 {
		channels = append(channels, 0, 0)
	}
	blocks := slices.Concat(block(serverCore, core), block(serverSecurity, make([]byte, 8)), block(serverNetwork, channels))
	// GCC Conference Create Response: node, tag, result, and one set of user data with
	// the key "McDn".
	response := slices.Concat([]byte{0x14, 0x76, 0x0a, 1, 1, 0, 1, 0xc0, 0, 'M', 'c', 'D', 'n'}, per(blocks))
	number := func(v uint16) []byte { return ber(berInteger, byte(v>>8), byte(v)) }
	domain := slices.Concat(number(34), number(3), number(0), number(1), number(0), number(1), ber(berInteger, 0, 0xff, 0xf8), number(2))
	return tpktData(ber(mcsConnected, slices.Concat(ber(berEnumerated, 0), ber(berInteger, 0), ber(berSequence, domain...),
		ber(berOctets, slices.Concat(t124, per(response))...))...))
}

// tpktData returns a message with X.224 data.
func tpktData(value []byte) []byte { return tpkt(append([]byte{2, 0xf0, 0x80}, value...)) }

// sendTo returns a message with data for the client on a channel.
func sendTo(channel uint16, value []byte) []byte {
	head := binary.BigEndian.AppendUint16([]byte{mcsIndication}, userID-firstUser)
	head = append(binary.BigEndian.AppendUint16(head, channel), 0x70)
	return tpktData(append(head, per(value)...))
}
