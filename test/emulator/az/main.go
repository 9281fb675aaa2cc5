// Command az runs Debian's az command line with only the local Azure and compares each answer with
// the shape in Azure's documentation. The project did not write az, so it is an independent judge.
// make e2e-az runs it; it needs az on the PATH and is not part of go test.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	casement := flag.String("casement", "bin/casement", "the built casement")
	az := flag.String("az", "az", "the az program")
	only := flag.String("only", "", "run these areas alone, comma separated, after login and group")
	evidence := flag.String("evidence", "", "file to write what was asked and answered to, by resource type and verb")
	verbose := flag.Bool("v", false, "show every answer")
	flag.Parse()
	if err := run(*casement, *az, *only, *evidence, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "e2e-az:", err)
		os.Exit(1)
	}
}

func run(casement, az, only, evidence string, verbose bool) error {
	casement, err := filepath.Abs(casement)
	if err != nil {
		return err
	}
	steps, err := scripts()
	if err != nil {
		return err
	}
	if only != "" {
		areas := append(strings.Split(only, ","), "login", "group")
		steps = slices.DeleteFunc(steps, func(s step) bool { return !slices.Contains(areas, s.area) })
	}
	home, err := os.MkdirTemp("", "caz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	azure, err := serve(casement, az, home)
	if err != nil {
		return err
	}
	defer azure.stop()
	failed := 0
	area := ""
	for _, s := range steps {
		if s.area != area {
			area = s.area
			fmt.Printf("\n%s\n", area)
		}
		r := azure.do(s)
		verdict := "ok"
		if len(r.problems) > 0 {
			verdict = "FAILED"
			failed++
		}
		fmt.Printf("  %-6s %5.1f s  az %s\n", verdict, r.seconds, s.short())
		for _, p := range r.problems {
			fmt.Printf("         line %d: %s\n", s.line, p)
		}
		switch {
		case verbose:
			fmt.Print(indent(r.output, "         | "))
		case len(r.problems) > 0:
			fmt.Print(indent(errorLines(r.output), "         | "))
		}
	}
	unsupported, err := azure.unsupported()
	if err != nil {
		return err
	}
	fmt.Printf("\n%d az commands, %d failed; %d calls were beyond what the local Azure models\n", len(steps), failed, len(unsupported))
	for _, u := range unsupported {
		fmt.Println("  not modelled:", u)
	}
	if evidence != "" {
		if err := azure.record(evidence); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d commands failed", failed, len(steps))
	}
	return nil
}

// errorLines returns all error lines of az's output, or the beginning of the output if there are
// none.
func errorLines(output string) string {
	var errs []string
	for line := range strings.Lines(output) {
		if strings.Contains(line, "ERROR") || strings.Contains(line, "Error:") || strings.HasPrefix(line, "Message:") {
			errs = append(errs, line)
		}
	}
	if len(errs) > 0 {
		return strings.Join(errs, "")
	}
	return output[:min(len(output), 600)] + "\n"
}

func indent(text, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(prefix + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
