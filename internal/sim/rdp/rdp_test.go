package rdp

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"image"
	"image/color"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/pki"
)

// request returns an X.224 connection request of a client that offers protocols.
func request(protocols byte) []byte {
	return tpkt([]byte{14, x224Request, 0, 0, 0, 0, 0, negRequest, 0, 8, 0, protocols, 0, 0, 0})
}

// connectInitial returns the MCS Connect Initial of a client with a screen and virtual channels.
func connectInitial(width, height uint16, channels int) []byte {
	core := slices.Concat(le(4, 8, width, height), make([]byte, 200))
	network := slices.Concat(le(uint16(channels), 0), make([]byte, 12*channels))
	blocks := slices.Concat(le(clientCore, uint16(len(core)+4)), core, le(clientNetwork, uint16(len(network)+4)), network)
	conference := slices.Concat([]byte{0, 8, 0, 16, 0, 1, 0xc0, 0, 'D', 'u', 'c', 'a'}, per(blocks))
	domain := ber(berSequence, 2, 1, 1)
	return ber(mcsConnect, slices.Concat(ber(berOctets, 1), ber(berOctets, 1), ber(berBoolean, 0xff), domain, domain, domain,
		ber(berOctets, slices.Concat(t124, per(conference))...))...)
}

// fromClient returns a message with a client's data on a channel.
func fromClient(channel uint16, value []byte) []byte {
	head := binary.BigEndian.AppendUint16([]byte{mcsSend}, userID-firstUser)
	return tpktData(slices.Concat(binary.BigEndian.AppendUint16(head, channel), []byte{0x70}, per(value)))
}

// shares returns a message of the share from a client.
func shares(kind byte, value ...byte) []byte {
	head := slices.Concat(le(uint16(18+len(value)), shareData, userID), make([]byte, 8), []byte{kind, 0, 0, 0})
	return fromClient(ioChannel, append(head, value...))
}

// serve starts a server for one client; ended receives the error that Serve returns.
func serve(t *testing.T, picture func(int, int) image.Image) (client net.Conn, ended chan error) {
	t.Helper()
	cert, err := pki.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "win"}}, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	ended = make(chan error, 1)
	go func() {
		s := Server{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}, Picture: picture}
		err := s.Serve(t.Context(), server)
		server.Close()
		ended <- err
	}()
	t.Cleanup(func() { client.Close() })
	return client, ended
}

// TestSession makes a client's session up to the picture and compares the picture's pixels.
func TestSession(t *testing.T) {
	const width, height = 101, 70
	dot := color.RGBA{0xf8, 0xfc, 0xf8, 0xff}
	client, _ := serve(t, func(w, h int) image.Image {
		p := image.NewRGBA(image.Rect(0, 0, w, h))
		p.SetRGBA(100, 69, dot)
		return p
	})
	send(t, client, request(3))
	if answer := receive(t, client); answer[1] != x224Confirm || answer[7] != negResponse || answer[11] != protocolTLS {
		t.Fatalf("the answer is %x", answer)
	}
	secure := tls.Client(client, &tls.Config{InsecureSkipVerify: true})
	send(t, secure, tpktData(connectInitial(width, height, 3)))
	if answer := receive(t, secure); !bytes.Contains(answer, []byte("McDn")) {
		t.Fatalf("the conference is %x", answer)
	}
	send(t, secure, tpktData([]byte{mcsErectDomain, 1, 0, 1, 0}))
	send(t, secure, tpktData([]byte{mcsAttachUser}))
	if answer := receive(t, secure); answer[3] != mcsAttached {
		t.Fatalf("the user is %x", answer)
	}
	send(t, secure, tpktData([]byte{mcsJoinChannel, 0, 6, ioChannel >> 8, ioChannel & 0xff}))
	if answer := receive(t, secure); answer[3] != mcsJoined || binary.BigEndian.Uint16(answer[9:]) != ioChannel {
		t.Fatalf("the channel is %x", answer)
	}
	send(t, secure, fromClient(ioChannel, slices.Concat(le(securityInfo, 0), []byte("the user's secret"))))
	if license, share := receive(t, secure), receive(t, secure); license[11]&securityLicense == 0 || share[13] != demandActive {
		t.Fatalf("the license is %x, the share %x", license, share)
	}
	send(t, secure, []byte{0, 4, 1, 2}) // input in fast-path form
	for _, m := range [][]byte{
		shares(dataSynchronize, 1, 0, 0, 0), shares(dataControl, le(controlTogether, 0, 0, 0)...),
		shares(dataControl, le(controlRequest, 0, 0, 0)...), shares(dataFontList, 0, 0, 0, 0, 0, 0, 0, 0),
	} {
		send(t, secure, m)
		receive(t, secure)
	}
	var got []image.Point
	for range 4 { // two tiles by two
		r := reader{rest: receive(t, secure)[11+18:]}
		r.take(4)
		left, top, right, bottom, w, h := int(r.le16()), int(r.le16()), int(r.le16()), int(r.le16()), int(r.le16()), int(r.le16())
		r.take(6)
		for y := h - 1; y >= 0; y-- {
			for x := range w {
				if r.le16() == 0xffff {
					got = append(got, image.Pt(left+x, top+y))
				}
			}
		}
		if r.failed || len(r.rest) > 0 || right >= width || bottom >= height || w*h*2 > 8<<10 {
			t.Errorf("a tile from %d,%d to %d,%d of %d by %d pixels", left, top, right, bottom, w, h)
		}
	}
	if !slices.Equal(got, []image.Point{{X: 100, Y: 69}}) {
		t.Errorf("the dot is shown at %v", got)
	}
	send(t, secure, tpktData([]byte{mcsDisconnect | 1, 0x80}))
	if _, err := secure.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the server ends with %v", err)
	}
}

func send(t *testing.T, c net.Conn, message []byte) {
	t.Helper()
	if _, err := c.Write(message); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn) []byte {
	t.Helper()
	body, err := readTPKT(c)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		first, then []byte
		want        string
	}{
		"no TLS":         {first: request(0), want: "does not offer TLS"},
		"not RDP":        {first: []byte("GET / HTTP/1.1\r\n"), want: "speaks no RDP"},
		"a huge message": {first: []byte{3, 0, 0xff, 0xff}, want: "claims 65535 bytes"},
		"no conference":  {first: request(1), then: tpktData([]byte{1, 2, 3, 4, 5, 6, 7, 8}), want: "no GCC conference"},
		"no screen":      {first: request(1), then: tpktData(connectInitial(0, 600, 0)), want: "0 by 600"},
		"a huge screen":  {first: request(1), then: tpktData(connectInitial(60000, 600, 0)), want: "60000 by 600"},
		"many channels":  {first: request(1), then: tpktData(connectInitial(800, 600, 40)), want: "40 channels"},
	} {
		t.Run(name, func(t *testing.T) {
			client, ended := serve(t, nil)
			go func() { // the server may stop reading
				if _, err := client.Write(c.first); err != nil || c.then == nil {
					_, _ = io.Copy(io.Discard, client)
					return
				}
				_, _ = readTPKT(client)
				secure := tls.Client(client, &tls.Config{InsecureSkipVerify: true})
				_, _ = secure.Write(c.then)
				_, _ = io.Copy(io.Discard, secure)
			}()
			if err := <-ended; err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzSession sends random bytes to a session instead of a client's messages after TLS.
func FuzzSession(f *testing.F) {
	f.Add(tpktData(connectInitial(640, 480, 2)))
	f.Add(slices.Concat(tpktData(connectInitial(64, 48, 1)), tpktData([]byte{mcsAttachUser}),
		fromClient(ioChannel, le(securityInfo, 0)), shares(dataFontList), shares(dataSuppress, 1)))
	f.Add([]byte{0, 0x80, 1, 3, 0, 0, 7, 2, 0xf0, 0x80})
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := session{conn: tape{Reader: bytes.NewReader(sent)},
			picture: func(w, h int) image.Image { return image.NewRGBA(image.Rect(0, 0, min(w, 64), min(h, 64))) }}
		if err := s.connect(1); err != nil {
			return
		}
		if err := s.run(); err == nil {
			t.Error("a session that ends has a reason")
		}
	})
}

// tape is a connection whose reads return recorded bytes of a client.
type tape struct {
	net.Conn
	io.Reader
}

func (t tape) Read(p []byte) (int, error) { return t.Reader.Read(p) }
func (tape) Write(p []byte) (int, error)  { return len(p), nil }
func (tape) SetDeadline(time.Time) error  { return nil }

// TestScreen: text is drawn within a screen of any size.
func TestScreen(t *testing.T) {
	for name, size := range map[string]image.Point{"usual": {X: 1024, Y: 640}, "small": {X: 200, Y: 100}, "least": {X: 1, Y: 1}} {
		t.Run(name, func(t *testing.T) {
			p := Screen(size.X, size.Y, "Simulated Windows: win", "one", "", strings.Repeat("word ", 60))
			if p.Bounds() != image.Rect(0, 0, size.X, size.Y) {
				t.Errorf("it is %v", p.Bounds())
			}
			inked := 0
			for y := range size.Y {
				for x := range size.X {
					if r, _, _, _ := p.At(x, y).RGBA(); r>>8 == 0xff {
						inked++
					}
				}
			}
			if (inked > 0) != (size.X > 1) {
				t.Errorf("%d pixels have ink", inked)
			}
		})
	}
}

// TestScreensAreSmall: a picture needs little memory, because clients choose its size, up to 33 MB
// of pixels, and there may be thousands of clients.
func TestScreensAreSmall(t *testing.T) {
	const clients = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range clients {
		Screen(widest, tallest, "Simulated Windows: win", strings.Repeat("word ", 60))
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / clients; each > 256<<10 {
		t.Errorf("a picture takes %d bytes", each)
	}
}
