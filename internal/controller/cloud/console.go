package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"casement.dev/casement/internal/azure/desired"
)

const (
	// longestConsole is the number of bytes that are read of a serial console; keptConsole is the number of bytes at
	// its end that are searched.
	longestConsole = 8 << 20
	keptConsole    = 64 << 10
)

// Console returns the end of a virtual machine's serial console, which Azure keeps if boot diagnostics are enabled. The
// text is empty while Azure prepares the console, and can contain secrets.
func (s *Session) Console(ctx context.Context, vmID string) (string, error) {
	result, err := s.client.Post(ctx, vmID+"/retrieveBootDiagnosticsData", desired.ComputeAPIVersion, nil)
	if err != nil || result.Operation != nil {
		return "", err
	}
	var where struct {
		URI string `json:"serialConsoleLogBlobUri"`
	}
	if err := json.Unmarshal(result.Body, &where); err != nil || where.URI == "" {
		return "", errors.New("boot diagnostics: Azure names no serial log")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.URI, nil)
	if err != nil {
		return "", errors.New("boot diagnostics: the address of the serial log cannot be read") // the address contains a key
	}
	storage := s.storage
	if storage == nil {
		storage = http.DefaultClient
	}
	resp, err := storage.Do(req)
	if err != nil {
		return "", fmt.Errorf("read the serial log from storage at %s: the connection failed", req.URL.Host) // the cause contains the address
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("read the serial log from storage at %s: %s", req.URL.Host, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, longestConsole))
	if err != nil {
		return "", fmt.Errorf("read the serial log from storage at %s: the connection broke", req.URL.Host)
	}
	return string(bytes.ToValidUTF8(text[max(0, len(text)-keptConsole):], nil)), nil
}
