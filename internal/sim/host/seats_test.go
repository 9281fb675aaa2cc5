package host

import (
	"context"
	"errors"
	"testing"

	"casement.dev/casement/azuresim/host"
)

func TestSeats(t *testing.T) {
	s := seats(make(chan struct{}, 1))
	first, err := s.take(t.Context(), &machine{})
	if err != nil {
		t.Fatal(err)
	}
	if leave, err := s.take(t.Context(), &machine{vm: host.VM{Tags: map[string]string{
		"sigs.k8s.io_cluster-api-provider-azure_role": "control-plane"}}}); err != nil {
		t.Fatal(err)
	} else {
		leave() // of no seat
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.take(over, &machine{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a guest that was stopped got the taken seat: %v", err)
	}
	first()
	first() // twice is once
	second, err := s.take(t.Context(), &machine{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s) != 1 {
		t.Errorf("%d seats are taken, want 1", len(s))
	}
	second()
}
