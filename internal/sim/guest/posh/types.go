package posh

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// method is one of a .NET type's. of is nil for a static one.
type method func(m *run, of any, args []any) (any, error)

func value(v any) method { return func(*run, any, []any) (any, error) { return v, nil } }

// types are the static members that are simulated.
func types() map[string]method {
	return map[string]method{
		"net.servicepointmanager::securityprotocol":  value("Tls12"),
		"net.securityprotocoltype::tls12":            value("Tls12"),
		"io.compression.compressionmode::decompress": value("Decompress"),
		"text.encoding::utf8":                        value("UTF8"),
		"convert::frombase64string":                  fromBase64,
		"convert::tobase64string":                    toBase64,
		"io.file::writeallbytes":                     func(m *run, _ any, a []any) (any, error) { return nil, m.write(a, false) },
		"io.file::writealltext":                      func(m *run, _ any, a []any) (any, error) { return nil, m.write(a, false) },
		"io.file::appendalltext":                     func(m *run, _ any, a []any) (any, error) { return nil, m.write(a, true) },
		"io.file::readalltext":                       readText,
		"io.memorystream::new":                       memory,
		"io.compression.gzipstream::new":             gunzip,
		"io.streamreader::new":                       func(_ *run, _ any, a []any) (any, error) { return first(a), nil },
	}
}

// methods are those of values.
func methods() map[string]method {
	return map[string]method{
		"getstring": func(_ *run, _ any, a []any) (any, error) { data, _ := first(a).([]byte); return string(data), nil },
		"getbytes":  func(_ *run, _ any, a []any) (any, error) { return []byte(show(first(a))), nil },
		"readtoend": readToEnd,
		"replace": func(m *run, of any, a []any) (any, error) {
			if len(a) != 2 {
				return nil, &Thrown{Message: "Replace takes two arguments"}
			}
			text, from, to := show(of), show(a[0]), show(a[1])
			if grows := strings.Count(text, from) * (len(to) - len(from)); grows > maxValue {
				return nil, m.take(grows)
			}
			return strings.ReplaceAll(text, from, to), nil
		},
		"trim":     func(_ *run, of any, _ []any) (any, error) { return strings.TrimSpace(show(of)), nil },
		"tolower":  func(_ *run, of any, _ []any) (any, error) { return strings.ToLower(show(of)), nil },
		"toupper":  func(_ *run, of any, _ []any) (any, error) { return strings.ToUpper(show(of)), nil },
		"tostring": func(_ *run, of any, _ []any) (any, error) { return show(of), nil },
	}
}

func fromBase64(_ *run, _ any, a []any) (any, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(show(first(a))), ""))
	if err != nil {
		return nil, &Thrown{Message: "The input is not a valid Base-64 string."}
	}
	return data, nil
}

func toBase64(_ *run, _ any, a []any) (any, error) {
	data, _ := first(a).([]byte)
	return base64.StdEncoding.EncodeToString(data), nil
}

func (m *run) write(args []any, appending bool) error {
	if len(args) < 2 {
		return &Thrown{Message: "a file's name and content are expected"}
	}
	data, ok := args[1].([]byte)
	if !ok {
		data = []byte(show(args[1]))
	}
	if err := m.take(len(data)); err != nil {
		return err
	}
	if err := m.host.WriteFile(show(args[0]), data, appending); err != nil {
		return &Thrown{Message: fmt.Sprintf("Could not write to '%s': %v", show(args[0]), err)}
	}
	return nil
}

func readText(m *run, _ any, a []any) (any, error) {
	data, err := m.host.ReadFile(show(first(a)))
	if err != nil {
		return nil, &Thrown{Message: fmt.Sprintf("Could not find file '%s'.", show(first(a)))}
	}
	return string(data), nil
}

func memory(_ *run, _ any, a []any) (any, error) {
	data, ok := first(a).([]byte)
	if !ok {
		return nil, &Thrown{Message: "MemoryStream takes bytes"}
	}
	return bytes.NewReader(data), nil
}

func gunzip(_ *run, _ any, a []any) (any, error) {
	r, ok := first(a).(io.Reader)
	if !ok {
		return nil, &Thrown{Message: "GzipStream takes a stream"}
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, &Thrown{Message: "The magic number in GZip header is not correct."}
	}
	return z, nil
}

func readToEnd(_ *run, of any, _ []any) (any, error) {
	r, ok := of.(io.Reader)
	if !ok {
		return nil, &Thrown{Message: "ReadToEnd takes a reader"}
	}
	data, err := io.ReadAll(io.LimitReader(r, maxValue))
	if err != nil {
		return nil, &Thrown{Message: "Found invalid data while decoding."}
	}
	return string(data), nil
}
