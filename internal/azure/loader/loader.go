// Package loader keeps a machine's bootstrap secrets out of its custom data: it splits a cloud-config into a public
// part, a script for a vault, and the custom data that fetches and runs that script on the machine.
//
// It is pure: bytes in, bytes out. It uses no Azure client and no Kubernetes objects, and its errors never show the
// data. The controllers import it.
package loader

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"
	"unicode"
)

// maxSecret is the largest number of characters in a Key Vault secret. Source:
// https://learn.microsoft.com/azure/key-vault/secrets/about-secrets (25k bytes).
const maxSecret = 25600

// Input is the bootstrap data of one machine or pool, and the place of its script.
type Input struct {
	// Windows selects cloudbase-init and PowerShell instead of cloud-init and sh.
	Windows bool
	// Data is the cloud-config that the bootstrap provider rendered. It is secret.
	Data []byte
	// SecretURL is the URL of the secret, such as https://v.vault.azure.net/secrets/s.
	SecretURL string
	// IdentityID is the resource ID of the identity that can read the secret.
	IdentityID string
}

// Output is the bootstrap data, split into custom data without secrets and a secret for the vault.
type Output struct {
	// CustomData is the custom data; it contains no secret.
	CustomData []byte
	// Secret is the value to store in the vault.
	Secret string
}

// Error means that bootstrap data cannot be split. It never contains the data.
type Error struct{ Field, Reason, Fix string }

// Error returns the field and the reason in one line.
func (e *Error) Error() string { return e.Field + ": " + e.Reason + "; " + e.Fix }

var (
	//go:embed fetch.sh
	fetchLinux string
	//go:embed apply.sh
	applyLinux string
	//go:embed load.ps1
	loadWindows string
)

// apiVersion is the API version of Key Vault's data plane.
const apiVersion = "7.4"

// Make splits bootstrap data. The error is an *Error if the data has to be changed.
func Make(in Input) (Output, error) {
	d, err := split(in.Data, in.Windows)
	if err != nil {
		return Output{}, err
	}
	script := d.sh()
	if in.Windows {
		script = d.powershell()
	}
	secret, err := pack(script)
	if err != nil {
		return Output{}, err
	}
	data, err := in.document(d.public)
	return Output{CustomData: data, Secret: secret}, err
}

// pack compresses a script into text that needs no escapes in JSON.
func pack(script string) (string, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write([]byte(script)); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	out := base64.URLEncoding.EncodeToString(b.Bytes())
	if len(out) > maxSecret {
		return "", &Error{"the bootstrap data",
			fmt.Sprintf("it has %d characters when compressed, and a Key Vault secret takes %d", len(out), maxSecret),
			"move large files into the image, or keep this machine's bootstrap data in its custom data"}
	}
	return out, nil
}

// document returns the custom data: the public part as cloud-config, and the loader.
func (in Input) document(public []byte) ([]byte, error) {
	fill, err := in.filler()
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	// The boundary is constant, so that the same data gives the same document and a scale set does not change.
	if err := w.SetBoundary("casement-bootstrap-loader"); err != nil {
		return nil, err
	}
	add := func(kind, name, text string) {
		if err == nil {
			err = part(w, kind, name, text)
		}
	}
	if len(public) > 0 {
		add("text/cloud-config", "public.yaml", "#cloud-config\n"+string(public))
	}
	if in.Windows {
		add("text/x-shellscript", "casement-load.ps1", fill.Replace(loadWindows))
	} else {
		add("text/cloud-boothook", "casement-fetch.sh", fill.Replace(fetchLinux))
		add("text/x-shellscript", "casement-apply.sh", applyLinux)
	}
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	// cloudbase-init looks for the content type before the first empty line.
	return append([]byte("Content-Type: multipart/mixed; boundary=\"casement-bootstrap-loader\"\n"+
		"MIME-Version: 1.0\n\n"), body.Bytes()...), nil
}

// part adds a MIME part. Text that is not ASCII is encoded as base64, because both agents
// read the document as text and damage other encodings.
func part(w *multipart.Writer, kind, name, text string) error {
	head := textproto.MIMEHeader{
		"Content-Type": {kind + `; charset="utf-8"`}, "Mime-Version": {"1.0"},
		"Content-Disposition": {`attachment; filename="` + name + `"`},
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		head.Set("Content-Transfer-Encoding", "base64")
		text = lines(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	p, err := w.CreatePart(head)
	if err != nil {
		return err
	}
	_, err = p.Write([]byte(text))
	return err
}

// lines breaks encoded text into lines, as MIME requires.
func lines(text string) string {
	const width = 76
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width] + "\n")
		text = text[width:]
	}
	return b.String() + text + "\n"
}

// filler replaces the placeholders for URLs in a loader. The URLs consist of Azure names,
// which contain no quotes.
func (in Input) filler() (*strings.Replacer, error) {
	u, err := url.Parse(in.SecretURL)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.ContainsAny(in.SecretURL+in.IdentityID, "'\"`$ \n") {
		return nil, &Error{"the vault's address", "is not an https URL without quotes",
			"look at properties.vaultUri of the cluster's key vault"}
	}
	q := url.Values{"api-version": {"2018-02-01"}, "resource": {Audience(u)}, "msi_res_id": {in.IdentityID}}
	return strings.NewReplacer(
		"@TOKEN_URL@", "http://169.254.169.254/metadata/identity/oauth2/token?"+q.Encode(),
		"@SECRET_URL@", in.SecretURL+"?api-version="+apiVersion,
	), nil
}

// Audience returns the audience of tokens for a vault: the vault's host without its first label.
func Audience(vault *url.URL) string {
	_, domain, _ := strings.Cut(vault.Hostname(), ".")
	return "https://" + domain
}
