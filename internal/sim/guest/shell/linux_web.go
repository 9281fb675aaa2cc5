package shell

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"regexp"
	"strings"
)

var curlSetting = regexp.MustCompile(`(?m)^\s*([a-z-]+)\s*[= :]\s*"?(.*?)"?\s*$`)

// curl asks by HTTP in the guest's network: -X, -H, -o, -f, -K - (headers alone); what
// else it is given has no effect.
func curl(ctx context.Context, p *Process) int {
	url, out, method, fail := "", "", "", false
	headers := map[string]string{}
	header := func(line string) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			headers[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	for i := 1; i < len(p.Args); i++ {
		value := func() string {
			if i++; i < len(p.Args) {
				return p.Args[i]
			}
			return ""
		}
		switch a := p.Args[i]; {
		case a == "-H" || a == "--header":
			header(value())
		case a == "-X" || a == "--request":
			method = value()
		case a == "-o" || a == "--output":
			out = value()
		case a == "-K" || a == "--config":
			data, err := p.read(value())
			if err != nil {
				return p.Fail(26, "curl: cannot read the configuration")
			}
			for _, m := range curlSetting.FindAllStringSubmatch(string(data), -1) {
				if m[1] == "header" {
					header(m[2])
				}
			}
		case a == "--max-time" || a == "-m" || a == "--connect-timeout" || a == "--retry" || a == "--retry-delay" || a == "--noproxy":
			value()
		case strings.HasPrefix(a, "--"):
			fail = fail || a == "--fail"
		case strings.HasPrefix(a, "-"):
			fail = fail || strings.Contains(a, "f")
		default:
			url = a
		}
	}
	got, err := p.shell.ask(ctx, method, url, headers)
	switch {
	case err != nil && p.shell.web == nil:
		return p.Fail(6, "curl: %v", err)
	case err != nil:
		return p.Fail(7, "curl: (7) %v", err)
	case fail && got.status >= http.StatusBadRequest:
		return p.Fail(22, "curl: (22) The requested URL returned error: %d", got.status)
	}
	if out != "" {
		if err := p.Guest.Root.WriteFile(p.Abs(out), got.body, 0o644); err != nil {
			return p.Fail(23, "curl: (23) %s: %s", out, reason(err))
		}
		return 0
	}
	_, _ = p.Stdout.Write(got.body) // a failed write is the reader's affair
	return 0
}

// base64Command encodes, and decodes with -d.
func base64Command(_ context.Context, p *Process) int {
	flags, files := operands(p.Args[1:])
	data, err := p.read(orStdin(files)[0])
	if err != nil {
		return p.Fail(1, "base64: %s", reason(err))
	}
	if !strings.Contains(flags, "d") {
		p.Printf("%s\n", base64.StdEncoding.EncodeToString(data))
		return 0
	}
	plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(data)), ""))
	if err != nil {
		return p.Fail(1, "base64: invalid input")
	}
	_, _ = p.Stdout.Write(plain)
	return 0
}

// maxUnzipped bounds what a compressed stream may grow to.
const maxUnzipped = 16 << 20

// gunzip undoes gzip, from its input to its output.
func gunzip(_ context.Context, p *Process) int {
	flags, _ := operands(p.Args[1:])
	if p.Args[0] == "gzip" && !strings.Contains(flags, "d") {
		return p.Fail(1, "gzip: only -d is simulated")
	}
	data, err := p.read("-")
	if err != nil {
		return p.Fail(1, "gzip: %s", reason(err))
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return p.Fail(1, "gzip: stdin: not in gzip format")
	}
	if _, err := io.Copy(p.Stdout, io.LimitReader(z, maxUnzipped)); err != nil {
		return p.Fail(1, "gzip: stdin: unexpected end of file")
	}
	return 0
}
