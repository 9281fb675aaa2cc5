package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"casement.dev/casement/internal/helm/v1alpha1"
)

// member returns a gzip stream that a file may contain many times in a row: the members of a gzip file are one text.
func member(t *testing.T, write func(io.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	write(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// file writes a file of a tar archive whose header states a number of bytes; text may be shorter.
func file(t *testing.T, w io.Writer, name string, says int64, text []byte) {
	t.Helper()
	a := tar.NewWriter(w)
	if err := a.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: says, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(text); err != nil {
		t.Fatal(err)
	}
	if int64(len(text)) == says {
		if err := a.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

const chartYAML = "apiVersion: v2\nname: bomb\nversion: 1.0.0\n"

// archives are chart archives that would exhaust a machine, each with its error.
func archives(t *testing.T) map[string]struct {
	archive []byte
	want    string
} {
	head := member(t, func(w io.Writer) { file(t, w, "bomb/Chart.yaml", int64(len(chartYAML)), []byte(chartYAML)) })
	zeros := make([]byte, 4<<20)
	many := func(n int, one []byte) []byte { return append(bytes.Clone(head), bytes.Repeat(one, n)...) }
	nothing := member(t, func(w io.Writer) {
		for i := range 1000 {
			file(t, w, fmt.Sprintf("bomb/templates/%d.txt", i), 0, nil)
		}
	})
	deep := "a: " + strings.Repeat("[", 2<<20)
	aliases := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		aliases += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	values := func(text string) []byte {
		return append(bytes.Clone(head), member(t, func(w io.Writer) { file(t, w, "bomb/values.yaml", int64(len(text)), []byte(text)) })...)
	}
	return map[string]struct {
		archive []byte
		want    string
	}{
		"10 GB of one file": {append(bytes.Clone(head), member(t, func(w io.Writer) {
			file(t, w, "bomb/values.yaml", 10<<30, zeros)
		})...), "larger than the maximum|used more than"},
		"10 GB of 2,500 files": {many(2500, member(t, func(w io.Writer) {
			file(t, w, "bomb/files/zeros", int64(len(zeros)), zeros)
		})), "larger than the maximum|used more than"},
		"20 million empty files": {many(20000, nothing), "of memory|of the processor"},
		"a deep list":            {values(deep), "exceeded max depth|of memory|of the processor|cannot load values.yaml"},
		"aliases of aliases":     {values(aliases), "excessive aliasing|of memory|of the processor"},
		"a text of 4 MB":         {values("a: " + strings.Repeat("b", 4<<20)), ""},
	}
}

func hostileStep(t *testing.T, repository string) step {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	config.Contexts["x"], config.CurrentContext = &clientcmdapi.Context{Cluster: "c"}, "x"
	kubeconfig, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return step{Kubeconfig: kubeconfig, CPU: 3, Options: Options{Cache: t.TempDir(), OwnRepositories: true},
		Release: &v1alpha1.HelmReleaseProxySpec{Chart: v1alpha1.Chart{ChartName: "bomb", ReleaseName: "bomb", RepoURL: repository}}}
}

// TestHostileArchives: a step with a chart archive that is far larger than it seems ends within its limits, and is not retried.
func TestHostileArchives(t *testing.T) {
	for name, c := range archives(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := hostileStep(t, "")
			s.Options.Charts = t.TempDir()
			if err := os.WriteFile(filepath.Join(s.Options.Charts, "bomb.tgz"), c.archive, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := s.run(t.Context())
			said(t, err, c.want)
		})
	}
}

// said checks that an error contains one of some texts; without a text, that the chart was read and its cluster does
// not respond.
func said(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		want = "connection refused"
	}
	for one := range strings.SplitSeq(want, "|") {
		if err != nil && strings.Contains(err.Error(), one) {
			if final := strings.Contains(err.Error(), "not tried again"); final != (want != "connection refused") {
				t.Errorf("tried again: %t: %v", !final, err)
			}
			return
		}
	}
	t.Errorf("error %.400v, want %s", err, want)
}

// TestHostileIndexes: a repository's index is huge or endless.
func TestHostileIndexes(t *testing.T) {
	for name, c := range map[string]struct {
		line, want string
	}{
		"endless":            {strings.Repeat("a", 1<<16), "of memory|of the processor"},
		"endless lines":      {strings.Repeat("#\n", 1<<15), "of memory|of the processor"},
		"many versions":      {"  - {apiVersion: v2, name: bomb, version: 1.0.0, urls: [x.tgz]}\n", "of memory|of the processor"},
		"a redirect to here": {"", "stopped after 10 redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.line == "" {
					http.Redirect(w, r, r.URL.Path, http.StatusFound)
					return
				}
				text := []byte("apiVersion: v1\nentries:\n  bomb:\n")
				for i := 0; i < 1<<30; i += len(text) {
					if _, err := w.Write(text); err != nil {
						return
					}
					text = bytes.Repeat([]byte(c.line), max(1, 1<<16/len(c.line)))
				}
			}))
			defer server.Close()
			_, err := hostileStep(t, server.URL).run(t.Context())
			if name == "a redirect to here" { // the repository's owner may repair this
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v", err)
				}
				return
			}
			said(t, err, c.want)
		})
	}
}

// TestRepositoriesOfThisComputer: a chart causes no connection to a service of this computer, however its repository is written.
func TestRepositoriesOfThisComputer(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1) }))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	defer server.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	open := hostileStep(t, "http://127.0.0.1:"+port)
	if _, err := open.run(t.Context()); err == nil || asked.Swap(0) == 0 {
		t.Fatalf("a service that counts nothing could not fail: %v", err)
	}
	hosts := []string{"127.0.0.1", "127.9.9.9", "localhost", "localhost.", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			hosts = append(hosts, n.IP.String())
		}
	}
	for _, host := range hosts {
		for _, scheme := range []string{"http", "oci"} {
			s := hostileStep(t, scheme+"://"+host+":"+port)
			s.Options.OwnRepositories = false
			_, err := s.run(t.Context())
			if strings.Contains(fmt.Sprint(err), "no such host") || strings.Contains(fmt.Sprint(err), "invalid reference") {
				continue // no request was sent
			}
			if err == nil || !strings.Contains(err.Error(), "is an address of this computer") || !strings.Contains(err.Error(), "not tried again") {
				t.Errorf("%s://%s: error %v", scheme, host, err)
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the service was asked %d times", n)
	}
	for _, url := range []string{"file:///etc", "ftp://example.com", "/etc", "http://", "oci:x", "gopher://x", "http://[::1"} {
		if err := checkRepository(url); err == nil || !strings.Contains(err.Error(), "spec.repoURL") {
			t.Errorf("%s: error %v", url, err)
		}
	}
	for _, url := range []string{"", "https://charts.example.com/a", "oci://example.com/charts", "HTTP://example.com"} {
		if err := checkRepository(url); err != nil {
			t.Error(err)
		}
	}
}
