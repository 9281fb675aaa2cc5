package azuremachine

import (
	"bytes"
	"fmt"
	"strings"
)

// maxCustomData is Azure's limit for a VM's custom data before base64, in bytes.
// Source: https://learn.microsoft.com/azure/virtual-machines/custom-data.
const maxCustomData = 64 << 10

// checkBootstrapData says why a guest could not read its bootstrap data, and "" if
// nothing speaks against it. It never repeats the data.
func checkBootstrapData(data []byte) string {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "the bootstrap data is empty; look at the bootstrap config"
	case len(data) > maxCustomData:
		return fmt.Sprintf("the bootstrap data has %d bytes and Azure takes %d; make spec.files of the bootstrap config smaller", len(data), maxCustomData)
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		return "the bootstrap data is compressed, which the agent of Windows images does not read; store it as plain text"
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		return "the bootstrap data begins with a byte order mark, which hides its first line; store it without"
	}
	first, _, _ := strings.Cut(string(data), "\n")
	if strings.TrimSpace(first) == "" {
		return "the first line of the bootstrap data is blank, so the agent does not know its format; begin with #cloud-config or ## template: jinja"
	}
	return ""
}
