package bootdata

import (
	"strings"
	"testing"
)

func TestPassword(t *testing.T) {
	a, err := Password()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Password()
	if err != nil {
		t.Fatal(err)
	}
	if len(a) != passwordLength || a == b || strings.Trim(a, passwordLetters) != "" {
		t.Error("not a password of its own")
	}
}
