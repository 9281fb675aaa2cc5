package podrun

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// kubeletAPI serves the part of a kubelet's API that `kubectl logs` uses.
func (r *Runner) kubeletAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", r.serveLogs)
	return mux
}

func (r *Runner) serveLogs(w http.ResponseWriter, req *http.Request) {
	path := r.logFile(req.PathValue("namespace"), req.PathValue("pod"), req.PathValue("container"))
	if path == "" {
		http.Error(w, "this node has no such container", http.StatusNotFound)
		return
	}
	f, err := os.Open(path)
	if err != nil {
		http.Error(w, "the container has not started", http.StatusNotFound)
		return
	}
	defer f.Close()
	if lines, err := strconv.Atoi(req.URL.Query().Get("tailLines")); err == nil && lines >= 0 {
		seekTail(f, lines)
	}
	follow := req.URL.Query().Get("follow") == "true"
	flush := http.NewResponseController(w)
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		if _, err := io.Copy(w, f); err != nil || !follow {
			return
		}
		_ = flush.Flush() // if the client has closed the connection, the context ends
		select {
		case <-req.Context().Done():
			return
		case <-tick.C:
		}
	}
}

func (r *Runner) logFile(namespace, pod, container string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.workers {
		if w.pod.Namespace != namespace || w.pod.Name != pod {
			continue
		}
		for _, c := range w.containers {
			if c.spec.Name == container {
				return w.log(container)
			}
		}
	}
	return ""
}

// seekTail seeks to the beginning of the last lines of a file.
func seekTail(f *os.File, lines int) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	const window = 1 << 20 // a longer tail is shortened
	start := max(0, info.Size()-window)
	text := make([]byte, info.Size()-start)
	if _, err := f.ReadAt(text, start); err != nil && err != io.EOF {
		return
	}
	at := len(text)
	for ; lines > 0 && at > 0; lines-- {
		at = bytes.LastIndexByte(bytes.TrimSuffix(text[:at], []byte("\n")), '\n') + 1
	}
	_, _ = f.Seek(start+int64(at), io.SeekStart) // after a failure the whole file is sent
}
