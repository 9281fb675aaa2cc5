package engine

import (
	"reflect"
	"testing"

	"casement.dev/casement/azuresim/internal/value"
)

func TestRespell(t *testing.T) {
	got := value.Object{"tags": value.Object{"VMSize": "kept"}, "properties": value.Object{"ipconfigurations": []any{
		value.Object{"properties": value.Object{"privateIpAddress": "10.0.0.4", "other": 1.0}}}}}
	respell(got)
	want := value.Object{"tags": value.Object{"VMSize": "kept"}, "properties": value.Object{"ipConfigurations": []any{
		value.Object{"properties": value.Object{"privateIPAddress": "10.0.0.4", "other": 1.0}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
