package guest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest"
)

// TestCorruptSecret checks that a fault corrupts the token in a bootstrap secret, and leaves other values unchanged.
func TestCorruptSecret(t *testing.T) {
	const token = "abcdef.0123456789abcdef"
	script := "base64 -d <<'END' >'/run/kubeadm/kubeadm-join-config.yaml'\n" +
		base64.StdEncoding.EncodeToString([]byte("token: "+token+"\n")) + "\nEND\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	value := base64.URLEncoding.EncodeToString(packed.Bytes())
	a, _ := guest.FindFault("bad-token")
	data, err := base64.URLEncoding.DecodeString(a.CorruptSecret(value))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	file, err := base64.StdEncoding.DecodeString(lines[1])
	if err != nil || string(file) != "token: zzzzzz.0000000000000000\n" {
		t.Errorf("the file has %q, %v", file, err)
	}
	for _, other := range []string{"", "no base64!", base64.URLEncoding.EncodeToString([]byte("no gzip"))} {
		if got := a.CorruptSecret(other); got != other {
			t.Errorf("%q became %q", other, got)
		}
	}
	if jinja, _ := guest.FindFault("jinja-syntax"); jinja.CorruptSecret(value) != value {
		t.Error("a secret has no template, and one was corrupted")
	}
}
