// Command record runs a command and writes its output as an SVG picture in which each line appears at the time of its
// output: a short recording for the README, without a player or a script in the page.
//
//	go run ./hack/record -title 'make demo' docs/demo.svg hack/demo.sh
//
// It knows nothing of casement; only the Makefile runs it.
package main

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// line is one printed line and the time of its printing since the start of the command.
type line struct {
	text string
	at   time.Duration
}

// The picture's measures, in pixels.
const (
	columns    = 100
	lineHeight = 18
	charWidth  = 7.85
	margin     = 14
	titleBar   = 30
)

// longest is the longest pause between two lines in the picture.
const longest = 3 * time.Second

// pause is the time for which the last line is shown before the picture starts again.
const pause = 6 * time.Second

var escape = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\r")

func main() {
	title := flag.String("title", "", "text in the picture's title bar")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: record [-title TEXT] FILE.svg COMMAND [ARG ...]")
		os.Exit(2)
	}
	if err := record(*title, flag.Arg(0), flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// record runs a command, shows its output and writes the picture once the command has succeeded.
func record(title, file string, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	lines, err := read(io.TeeReader(out, os.Stdout), func() time.Duration { return time.Since(began) })
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return os.WriteFile(file, picture(title, lines), 0o644)
}

// read returns the lines of a text with the times of their arrival, each at most as wide as the
// picture, with ~ in place of the home folder.
func read(from io.Reader, now func() time.Duration) (lines []line, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	scan := bufio.NewScanner(from)
	for scan.Scan() {
		text := []rune(strings.ReplaceAll(escape.ReplaceAllString(scan.Text(), ""), home, "~"))
		if len(text) > columns {
			text = append(text[:columns-1], '…')
		}
		lines = append(lines, line{string(text), now()})
	}
	return lines, scan.Err()
}

// picture returns the SVG picture of lines, each of which appears at its time; long pauses are
// shortened, and the title contains the total time.
func picture(title string, lines []line) []byte {
	var b bytes.Buffer
	width, height := int(columns*charWidth)+2*margin, len(lines)*lineHeight+titleBar+2*margin
	var shown, last time.Duration
	times := make([]time.Duration, len(lines))
	for i, l := range lines {
		shown += min(l.at-last, longest)
		last, times[i] = l.at, shown
	}
	total := shown + pause
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`+"\n", width, height)
	fmt.Fprintf(&b, "<style>text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#d8dee9;white-space:pre}"+
		".t{fill:#8fa1b3}.h{fill:#88c0d0;font-weight:bold}.l{animation:%.1fs step-end infinite}", total.Seconds())
	for i, at := range times {
		fmt.Fprintf(&b, "@keyframes k%d{0%%{opacity:0}%.2f%%{opacity:1}}", i, 100*at.Seconds()/total.Seconds())
	}
	fmt.Fprintf(&b, "</style>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#20262e\"/>\n")
	fmt.Fprintf(&b, "<text class=\"t\" x=\"%d\" y=\"22\">%s</text>\n", margin, escaped(fmt.Sprintf("%s  (%.0f s)", title, last.Seconds())))
	for i, l := range lines {
		if strings.TrimSpace(l.text) == "" {
			continue
		}
		class := "l"
		if strings.HasPrefix(l.text, "== ") {
			class = "l h"
		}
		fmt.Fprintf(&b, "<text class=\"%s\" style=\"animation-name:k%d\" x=\"%d\" y=\"%d\">%s</text>\n", class, i, margin,
			titleBar+margin+i*lineHeight, escaped(l.text))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // writing to a buffer cannot fail
	return b.String()
}
