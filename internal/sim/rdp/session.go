package rdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"net"
	"slices"
	"time"
)

// errLeft is the error for a session that the client has ended.
var errLeft = errors.New("it left")

// session is a connection with a client after TLS.
type session struct {
	conn    net.Conn
	picture func(width, height int) image.Image
	wanted  wanted
	// drawn is the picture in the client's size.
	drawn image.Image
}

func (s *session) write(message []byte) error {
	_, err := s.conn.Write(message)
	return err
}

// connect answers MCS Connect Initial.
func (s *session) connect(protocols uint32) error {
	body, err := readTPKT(s.conn)
	if err != nil {
		return err
	}
	if s.wanted, err = parseConnect(body); err != nil {
		return err
	}
	return s.write(connected(s.wanted, protocols))
}

// run answers the client's messages until the client leaves.
func (s *session) run() error {
	for {
		body, err := readTPKT(s.conn)
		if err != nil {
			return err
		}
		if body == nil { // input
			continue
		}
		if err := s.answer(body); err != nil {
			return err
		}
	}
}

// answer answers one message of the MCS domain.
func (s *session) answer(body []byte) error {
	r, err := data(body)
	if err != nil {
		return err
	}
	switch kind := r.u8() &^ 3; kind {
	case mcsErectDomain:
	case mcsAttachUser:
		return s.write(tpktData(binary.BigEndian.AppendUint16([]byte{mcsAttached, 0}, userID-firstUser)))
	case mcsJoinChannel:
		r.be16() // the user
		channel := r.be16()
		joined := []byte{mcsJoined, 0}
		for _, v := range []uint16{userID - firstUser, channel, channel} {
			joined = binary.BigEndian.AppendUint16(joined, v)
		}
		return errors.Join(r.err(), s.write(tpktData(joined)))
	case mcsSend:
		r.be16() // the user
		channel := r.be16()
		r.u8() // priority and segmentation
		message := r.sub(r.per())
		if r.failed || channel != ioChannel {
			return r.err()
		}
		return s.share(message)
	case mcsDisconnect:
		return errLeft
	default:
		return fmt.Errorf("it sends an MCS message of the unknown kind %#x", kind)
	}
	return r.err()
}

// Messages of the share: [MS-RDPBCGR] 2.2.8.1.1.1 and 2.2.8.1.1.2.
const (
	securityInfo    = 0x0040
	securityLicense = 0x0080
	demandActive    = 0x11
	confirmActive   = 0x13
	shareData       = 0x17
	dataUpdate      = 2
	dataControl     = 20
	dataSynchronize = 31
	dataRefresh     = 33
	dataSuppress    = 35
	dataShutdown    = 36
	dataFontList    = 39
	dataFontMap     = 40
	controlRequest  = 1
	controlGranted  = 2
	controlTogether = 4
	shareID         = 0x000103ea
	serverChannel   = 0x03ea
)

// share answers a message on the input and output channel. Of the message with the client's
// credentials it reads only the flags.
func (s *session) share(r reader) error {
	first, second := r.le16(), r.le16()
	if first&securityInfo != 0 && second == 0 {
		return errors.Join(s.write(licensed()), s.write(demand(s.wanted)))
	}
	if int(first) != len(r.rest)+4 {
		return nil // other kinds of headers do not matter here
	}
	r.le16() // the sender
	if second&0xf != shareData&0xf {
		return nil // Confirm Active: the answer does not depend on the confirmed capabilities
	}
	r.take(8) // the share, stream and length
	kind := r.u8()
	r.take(3) // no compression
	switch kind {
	case dataSynchronize:
		return s.write(shared(dataSynchronize, le(1, userID)))
	case dataControl:
		if r.le16() == controlRequest {
			return s.write(shared(dataControl, le(controlGranted, userID, serverChannel, 0)))
		}
		return s.write(shared(dataControl, le(controlTogether, 0, 0, 0)))
	case dataFontList:
		if err := s.write(shared(dataFontMap, le(0, 0, 3, 4))); err != nil {
			return err
		}
		return s.draw()
	case dataRefresh:
		return s.draw()
	case dataSuppress:
		if r.u8() == 1 { // the client's window is visible again
			return s.draw()
		}
	case dataShutdown:
		return errLeft
	}
	return s.conn.SetDeadline(time.Now().Add(idle))
}

// draw sends the picture.
func (s *session) draw() error {
	if err := s.conn.SetDeadline(time.Now().Add(handshake)); err != nil {
		return err
	}
	if s.drawn == nil {
		s.drawn = s.picture(s.wanted.width, s.wanted.height)
	}
	for update := range updates(s.drawn) {
		if err := s.write(shared(dataUpdate, update)); err != nil {
			return err
		}
	}
	return s.conn.SetDeadline(time.Now().Add(idle))
}

// licensed returns the message that the client needs no licence: [MS-RDPBCGR] 2.2.1.12.
func licensed() []byte {
	const errorAlert, version3, validClient, noTransition, errorBlob = 0xff, 3, 7, 2, 4
	return sendTo(ioChannel, le(securityLicense, 0, version3<<8|errorAlert, 16, validClient, 0, noTransition, 0, errorBlob, 0))
}

// shared returns a message of the share, which is RDP's session protocol.
func shared(kind byte, value []byte) []byte {
	head := le(uint16(18+len(value)), shareData, serverChannel)
	head = binary.LittleEndian.AppendUint32(head, shareID)
	head = append(head, 0, 1)
	head = append(head, le(uint16(len(value)+4))...)
	return sendTo(ioChannel, slices.Concat(head, []byte{kind, 0, 0, 0}, value))
}

// demand returns the Demand Active PDU, which sends the server's capability sets to the client:
// [MS-RDPBCGR] 2.2.1.13.1.
func demand(w wanted) []byte {
	sets := capabilities(w)
	all := slices.Concat(sets...)
	body := binary.LittleEndian.AppendUint32(nil, shareID)
	body = append(body, le(4, uint16(len(all)+4))...)
	body = slices.Concat(body, []byte("RDP\x00"), le(uint16(len(sets)), 0), all, make([]byte, 4))
	return sendTo(ioChannel, append(le(uint16(len(body)+6), demandActive, serverChannel), body...))
}

// capabilities returns the minimal capability sets of a server: [MS-RDPBCGR] 2.2.7. None of
// them offers compression, drawing orders or fast-path output.
func capabilities(w wanted) [][]byte {
	set := func(kind uint16, value []byte) []byte { return append(le(kind, uint16(len(value)+4)), value...) }
	const windows, protocol = 1, 0x0200
	order := make([]byte, 84)
	copy(order[20:], le(1, 20, 0, 1, 0, 0x0a)) // the grid of saved desktops, the level and flags of orders
	input := make([]byte, 84)
	copy(input, le(1)) // scan codes
	return [][]byte{
		set(9, le(serverChannel, 0)),
		set(1, append(le(windows, 3, protocol, 0, 0, 0, 0, 0, 0), 1, 1)), // refresh and suppress messages are supported
		set(2, slices.Concat(le(bitsPerPixel, 1, 1, 1, uint16(w.width), uint16(w.height), 0, 0, 1), []byte{0, 0}, le(1, 0))),
		set(3, order),
		set(8, le(1, 20, 20)),
		set(13, input),
	}
}
