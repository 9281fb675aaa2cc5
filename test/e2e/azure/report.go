package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// The verdicts of rows.
const (
	passed = "pass"
	failed = "fail"
	notRun = "not run"
)

// row is the result of a step of the run or of a check.
type row struct {
	Cluster, Name, Verdict string
	// Began is the time since the start of the run; Local is the duration of the step in the last
	// rehearsal.
	Began, Took, Local time.Duration
	// Calls is the number of calls to Azure during the step, of both clusters.
	Calls  int
	Detail string
}

// report contains the results of the run. It contains no secret: it quotes only the recording, from
// which secrets are removed.
type report struct {
	mu sync.Mutex

	Azure, Region, Commit, Versions string
	Rehearsal                       bool
	Started                         time.Time
	Took                            time.Duration
	Rows                            []row
	Use                             use
	Budget                          string
	Calls                           []callsOf
	// Boots contains drawings by cluster.
	Boots map[string]template.HTML
	// Differences is the output of the recording's replay to the local Azure.
	Differences string
	// Ended is the reason why the run ended early; Left is the guard's output about remaining
	// resources.
	Ended, Left string
}

// callsOf counts calls of a kind.
type callsOf struct {
	Method, Type  string
	Count, Failed int
}

func newReport(s settings, o options) *report {
	commit := "unknown"
	if out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	return &report{Azure: s.endpoint, Region: s.location, Commit: commit, Versions: s.older + " to " + s.newer,
		Rehearsal: strings.Contains(s.endpoint, "127.0.0.1"), Started: time.Now(), Boots: map[string]template.HTML{},
		Budget: fmt.Sprintf("%d machines, %s, %.2f dollars", s.machines, s.hours, s.dollars)}
}

// step runs do and adds and prints a row with its result; detail is shown if do failed.
func (r *report) step(cluster, name string, rec *recording, do func() (detail string, err error)) error {
	began := time.Now()
	before, _ := rec.Calls()
	detail, err := do()
	after, _ := rec.Calls()
	one := row{Cluster: cluster, Name: name, Verdict: passed, Began: began.Sub(r.Started), Took: time.Since(began), Calls: after - before}
	if err != nil {
		one.Verdict, one.Detail = failed, strings.TrimSpace(err.Error()+"\n"+detail)
	}
	r.add(one)
	fmt.Printf("%-8s %-24s %-58s %7.1f s %5d calls\n", one.Verdict, cluster, name, one.Took.Seconds(), one.Calls)
	if one.Verdict == failed {
		fmt.Println("         " + strings.ReplaceAll(one.Detail, "\n", "\n         "))
	}
	return err
}

func (r *report) add(one row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Rows = append(r.Rows, one)
}

// draw adds a drawing of casement.
func (r *report) draw(cluster string, svg []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := bytes.Index(svg, []byte("<svg")); at >= 0 {
		r.Boots[cluster] = template.HTML(svg[at:]) // casement escapes the names of machines in its drawing
	}
}

// failures returns the number of failed rows.
func (r *report) failures() (n int) {
	for _, one := range r.Rows {
		if one.Verdict == failed {
			n++
		}
	}
	return n
}

// readRecording counts the calls of the recording.
func (r *report) readRecording(file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		r.Ended = strings.TrimSpace(r.Ended + "\nthe recording: " + err.Error())
		return
	}
	var recorded struct {
		Interactions []struct {
			Request  struct{ Method, URL string }
			Response struct{ Code int }
		}
	}
	if err := yaml.Unmarshal(data, &recorded); err != nil {
		r.Ended = strings.TrimSpace(r.Ended + "\nthe recording: " + err.Error())
		return
	}
	calls := map[[2]string]callsOf{}
	for _, i := range recorded.Interactions {
		key := [2]string{typeOf(i.Request.URL), i.Request.Method}
		one := calls[key]
		one.Type, one.Method, one.Count = key[0], key[1], one.Count+1
		if i.Response.Code >= 400 && i.Response.Code != 404 { // 404 only means that a resource does not exist
			one.Failed++
		}
		calls[key] = one
	}
	r.Calls = slices.SortedFunc(maps.Values(calls), func(a, b callsOf) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Method, b.Method))
	})
}

var provider = regexp.MustCompile(`(?i)/providers/([^?]+)`)

// typeOf returns the resource type in a URL.
func typeOf(address string) string {
	all := provider.FindAllStringSubmatch(address, -1)
	if len(all) == 0 {
		return "Microsoft.Resources/resourceGroups and subscriptions"
	}
	path := all[len(all)-1][1]
	if i := strings.LastIndex(strings.ToLower(path), "/providers/"); i >= 0 {
		path = path[i+len("/providers/"):]
	}
	segments := strings.Split(strings.Trim(path, "/"), "/")
	out := segments[0]
	for i := 1; i < len(segments); i += 2 {
		out += "/" + segments[i]
		if strings.EqualFold(segments[i], "locations") {
			return out + " (operations)"
		}
	}
	return out
}

// compare replays the recording to a local Azure and adds the differences to the report.
func (r *report) compare(ctx context.Context, file string) {
	at, err := filepath.Abs(file)
	if err != nil {
		r.Differences = err.Error()
		return
	}
	out, err := exec.CommandContext(context.WithoutCancel(ctx), "go", "test", "-count=1", "-v", "./test/emulator/recordings", "-run",
		"TestRecordings", "-file", at, "-differences").CombinedOutput()
	if r.Differences = strings.TrimSpace(string(out)); err != nil {
		r.Differences += "\n" + err.Error()
	}
}

//go:embed report.html
var page string

// write writes the page, and beside it the rows as JSON, from which the next run reads the
// durations of a rehearsal.
func (r *report) write(file string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rehearsed := strings.TrimSuffix(file, ".html") + "-rehearsal.json"
	if r.Rehearsal {
		data, err := json.MarshalIndent(r.Rows, "", " ")
		if err == nil {
			err = os.WriteFile(rehearsed, data, 0o600)
		}
		if err != nil {
			return err
		}
	} else if err := r.beside(rehearsed); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := r.render(&out); err != nil {
		return err
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		return err
	}
	fmt.Println("the report is", file)
	return nil
}

// beside reads the durations of the steps in the last rehearsal.
func (r *report) beside(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there was no rehearsal
	}
	var rows []row
	if err == nil {
		err = json.Unmarshal(data, &rows)
	}
	for i := range r.Rows {
		for _, o := range rows {
			if suffix(o.Cluster) == suffix(r.Rows[i].Cluster) && o.Name == r.Rows[i].Name {
				r.Rows[i].Local = o.Took
			}
		}
	}
	return err
}

// suffix returns the part of a cluster's name that is the same in every run.
func suffix(cluster string) string { return cluster[strings.LastIndex(cluster, "-")+1:] }

func (r *report) render(out *bytes.Buffer) error {
	slices.SortStableFunc(r.Rows, func(a, b row) int { return cmp.Compare(a.Cluster, b.Cluster) })
	t, err := template.New("report").Funcs(template.FuncMap{
		"seconds": func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) },
		"percent": func(d time.Duration) string { return fmt.Sprintf("%.2f%%", 100*d.Seconds()/max(r.Took.Seconds(), 1)) },
		"counts": func() string {
			n := map[string]int{}
			for _, one := range r.Rows {
				n[one.Verdict]++
			}
			return fmt.Sprintf("%d passed, %d failed, %d not run", n[passed], n[failed], n[notRun])
		},
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(out, r)
}
