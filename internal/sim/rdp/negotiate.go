package rdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Numbers of the negotiation: [MS-RDPBCGR] 2.2.1.1 and 2.2.1.2.
const (
	protocolTLS     = 1
	negRequest      = 1
	negResponse     = 2
	negFailure      = 3
	failureNeedsTLS = 1
	x224Request     = 0xe0
	x224Confirm     = 0xd0
)

// negotiate negotiates TLS with a client and returns the protocols that the client offered.
func negotiate(c io.ReadWriter) (uint32, error) {
	request, err := readTPKT(c)
	if err != nil {
		return 0, fmt.Errorf("read the connection request: %w", err)
	}
	asked, err := askedProtocols(request)
	if err != nil {
		return 0, err
	}
	if asked&protocolTLS == 0 {
		if _, err := c.Write(confirm(negFailure, failureNeedsTLS)); err != nil {
			return 0, err
		}
		return 0, errors.New("it does not offer TLS")
	}
	_, err = c.Write(confirm(negResponse, protocolTLS))
	return asked, err
}

// askedProtocols returns the protocols in the negotiation request at the end of an X.224 connection
// request. A client without a negotiation request supports only standard RDP security.
func askedProtocols(body []byte) (uint32, error) {
	if len(body) < 7 || body[1]&0xf0 != x224Request {
		return 0, errors.New("its first message is no connection request")
	}
	rest := body[7:]
	if len(rest) < 8 || rest[len(rest)-8] != negRequest {
		return 0, nil
	}
	return binary.LittleEndian.Uint32(rest[len(rest)-4:]), nil
}

// confirm returns an X.224 connection confirm with a negotiation answer.
func confirm(kind byte, value uint32) []byte {
	body := []byte{14, x224Confirm, 0, 0, 0x12, 0x34, 0, kind, 0, 8, 0}
	return tpkt(binary.LittleEndian.AppendUint32(body, value))
}
