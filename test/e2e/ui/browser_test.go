package ui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "drive a browser; make e2e-ui does")

// browser is one page in a browser without a window.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// complaints are exceptions of the page.
	complaints []string
}

// newBrowser starts chromium. Where it is missing the test is skipped, by name.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if !*full {
		t.Skip("only with -full: it drives a browser; make e2e-ui has it")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("%v; install it with: apt-get install chromium", err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.WindowSize(1280, 820))
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	b := &browser{t: t, ctx: ctx}
	t.Cleanup(func() {
		cancel()
		stop()
	})
	// The browser lives as long as the context of the first call.
	err = chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.complaints = append(b.complaints, e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	call(b, runtime.Enable, cdp.Empty{})
	call(b, performance.Enable, performance.EnableParams{})
	return b
}

// call runs a command of the DevTools protocol; a failure ends the test.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// open goes to an address.
func (b *browser) open(address string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
		b.t.Fatal(err)
	}
}

// eval evaluates JavaScript in the page, and waits for a promise.
func eval[T any](b *browser, expression string, limit time.Duration) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// js evaluates JavaScript in the page for its effect; a failure ends the test.
func (b *browser) js(expression string) {
	b.t.Helper()
	if _, err := eval[chromedp.Void](b, expression, time.Minute); err != nil {
		b.t.Fatal(err)
	}
}

// until waits for a JavaScript expression to be true.
func (b *browser) until(what, expression string, limit time.Duration) {
	b.t.Helper()
	poll := `new Promise((done) => { const look = () => (` + expression + `) ? done(true) : setTimeout(look, 100); look(); })`
	if _, err := eval[bool](b, poll, limit); err != nil {
		b.shot("failed")
		text, _ := eval[string](b, `document.body.innerText`, time.Minute)
		b.t.Fatalf("the page does not show %s: %v\n%s", what, err, text)
	}
}

// text waits until the page shows a text in an element.
func (b *browser) text(selector, text string, limit time.Duration) {
	b.t.Helper()
	b.until(fmt.Sprintf("%q in %s", text, selector),
		fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q))`, selector, text),
		limit)
}

func (b *browser) tab(name string) {
	b.t.Helper()
	b.js(fmt.Sprintf(`document.getElementById("tab-%s").click()`, name))
}

// emulate sets the width of the page and the colours of the system.
func (b *browser) emulate(width int64, scheme string) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 820, DeviceScaleFactor: 1})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// shot keeps a picture of the page.
func (b *browser) shot(name string) {
	b.t.Helper()
	b.js(`new Promise((done) => requestAnimationFrame(() => setTimeout(done, 400)))`) // wait for the end of movements
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	dir := filepath.Join(plane.Root(b.t), "bin/ui")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// metric returns a performance metric of the page from the browser.
func (b *browser) metric(name string) (value float64) {
	b.t.Helper()
	for _, m := range call(b, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == name {
			value = m.Value
		}
	}
	return value
}

// clean fails the test when the page complained.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.t.Errorf("the page complains:\n%s", strings.Join(b.complaints, "\n"))
	}
}
