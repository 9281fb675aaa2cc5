package ssh

import (
	"bufio"
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// shownByFreeRDP shows the desktop at address in FreeRDP's own client on a virtual display, and
// checks the picture. The screenshot is stored in bin/rdp.
func shownByFreeRDP(t *testing.T, address string) {
	for _, program := range []string{"Xvfb", "xfreerdp", "import"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (packages xvfb, freerdp2-x11, imagemagick)", program)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), sessionTimeout)
	defer cancel()
	display := virtualDisplay(t, ctx)
	home := t.TempDir()
	var said bytes.Buffer
	client := exec.CommandContext(ctx, "xfreerdp", "/v:"+address, "/u:capi", "/p:not-read", "/cert:tofu",
		"/size:1024x640", "/log-level:WARN")
	client.Env = append(os.Environ(), "DISPLAY="+display, "HOME="+home, "XDG_CONFIG_HOME="+home)
	client.Stdout, client.Stderr = &said, &said
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- client.Wait() }()
	file := filepath.Join(plane.Root(t), "bin", "rdp", strings.ReplaceAll(t.Name(), "/", "-")+".png")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for missing := "a screenshot"; missing != ""; {
		select {
		case err := <-ended:
			t.Fatalf("xfreerdp ended (%v) before it showed anything but %s:\n%s", err, missing, said.String())
		case <-ctx.Done():
			cancel()
			<-ended
			t.Fatalf("the screen still lacks %s:\n%s", missing, said.String())
		case <-time.After(200 * time.Millisecond): // the display sends no event when it changes
			missing = lacks(t, shoot(t, ctx, display, file))
		}
	}
	cancel()
	<-ended
	if strings.Contains(said.String(), "does not match") || strings.Contains(said.String(), "NAME MISMATCH") {
		t.Errorf("the certificate is not for %s:\n%s", address, said.String())
	}
	t.Logf("FreeRDP shows the screen: %s", file)
}

// virtualDisplay starts an X server that ends with ctx, and returns the name of its display.
func virtualDisplay(t *testing.T, ctx context.Context) string {
	t.Helper()
	number, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer number.Close()
	server := exec.CommandContext(ctx, "Xvfb", "-displayfd", "3", "-screen", "0", "1024x640x24", "-nolisten", "tcp")
	server.ExtraFiles = []*os.File{theirs}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	theirs.Close()
	line, err := bufio.NewReader(number).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb names no display: %v", err)
	}
	return ":" + strings.TrimSpace(line)
}

func shoot(t *testing.T, ctx context.Context, display, file string) image.Image {
	t.Helper()
	c := exec.CommandContext(ctx, "import", "-window", "root", "png24:"+file)
	c.Env = append(os.Environ(), "DISPLAY="+display)
	if out, err := c.CombinedOutput(); err != nil && ctx.Err() == nil {
		t.Fatalf("import: %v: %s", err, out)
	} else if err != nil {
		return image.Black
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// lacks returns the part that is missing in a picture of the screen: the background or the text; or
// "".
func lacks(t *testing.T, p image.Image) string {
	t.Helper()
	ground, ink := 0, 0
	all := p.Bounds().Intersect(image.Rect(0, 0, 1024, 640))
	for y := all.Min.Y; y < all.Max.Y; y++ {
		for x := all.Min.X; x < all.Max.X; x++ {
			switch r, _, b, _ := p.At(x, y).RGBA(); {
			case r>>8 > 0xe0 && b>>8 > 0xe0:
				ink++
			case r>>8 < 0x10 && b>>8 > 0x50:
				ground++
			}
		}
	}
	switch share := ground * 100 / max(all.Dx()*all.Dy(), 1); {
	case share < 90:
		return "the ground"
	case ink < 2000:
		return "text"
	}
	return ""
}
