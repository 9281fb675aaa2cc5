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

// browser is one page in a headless browser.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// complaints are the exceptions that the page's scripts threw.
	complaints []string
}

// newBrowser starts chromium. If chromium is missing, the test is skipped.
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
	// The browser ends with the context of the first call, so that context must last as long as the
	// test.
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

// call runs a command of the DevTools protocol; an error ends the test.
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

// eval evaluates a JavaScript expression in the page, and waits if its value is a promise.
func eval[T any](b *browser, expression string, limit time.Duration) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// js evaluates JavaScript in the page for its effect; an error ends the test.
func (b *browser) js(expression string) {
	b.t.Helper()
	if _, err := eval[chromedp.Void](b, expression, time.Minute); err != nil {
		b.t.Fatal(err)
	}
}

// until waits until a JavaScript expression is true.
func (b *browser) until(what, expression string, limit time.Duration) {
	b.t.Helper()
	poll := `new Promise((done) => { const look = () => (` + expression + `) ? done(true) : setTimeout(look, 100); look(); })`
	if _, err := eval[bool](b, poll, limit); err != nil {
		b.shot("failed")
		text, _ := eval[string](b, `document.body.innerText`, time.Minute)
		b.t.Fatalf("the page does not show %s: %v\n%s", what, err, text)
	}
}

// text waits until an element of the page shows a text.
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

// emulate sets the width of the page and the colour scheme of the system.
func (b *browser) emulate(width int64, scheme string) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 820, DeviceScaleFactor: 1})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// shot stores a screenshot of the page.
func (b *browser) shot(name string) {
	b.t.Helper()
	b.js(`new Promise((done) => requestAnimationFrame(() => setTimeout(done, 400)))`) // waits until animations have ended
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

// metric returns a performance metric of the page.
func (b *browser) metric(name string) (value float64) {
	b.t.Helper()
	for _, m := range call(b, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == name {
			value = m.Value
		}
	}
	return value
}

// clean fails the test if the page's scripts threw an exception.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.t.Errorf("the page complains:\n%s", strings.Join(b.complaints, "\n"))
	}
}
