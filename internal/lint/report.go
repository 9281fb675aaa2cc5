package lint

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Formats of Write.
var Formats = []string{"text", "json", "sarif", "github", "junit"}

// Write prints findings in a format. rules describe them in SARIF.
func Write(w io.Writer, format string, findings []Finding, rules []Rule) error {
	switch format {
	case "json":
		return encode(w, map[string]any{"findings": findings})
	case "sarif":
		return encode(w, sarif(findings, rules))
	case "github":
		return github(w, findings)
	case "junit":
		return junit(w, findings)
	}
	return text(w, findings)
}

// WriteJSON prints findings as JSON, with suppressed findings in a separate field.
func WriteJSON(w io.Writer, findings, suppressed []Finding) error {
	out := map[string]any{"findings": findings}
	if len(suppressed) > 0 {
		out["suppressed"] = suppressed
	}
	return encode(w, out)
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// text prints each finding, and the number of findings.
func text(w io.Writer, findings []Finding) error {
	if err := Show(w, findings); err != nil || len(findings) == 0 {
		return err
	}
	count := map[Severity]int{}
	fixable := 0
	for _, f := range findings {
		count[f.Severity]++
		if f.Fixable() {
			fixable++
		}
	}
	fixes := ""
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.File != "" }) {
		fixes = fmt.Sprintf("; --fix repairs %d", fixable)
	}
	_, err := fmt.Fprintf(w, "%d errors, %d warnings, %d notes%s\n", count[Error], count[Warning], count[Info], fixes)
	return err
}

// Show prints each finding with its line and a caret below the place.
func Show(w io.Writer, findings []Finding) error {
	var out bytes.Buffer
	for _, f := range findings {
		if f.File == "" {
			fmt.Fprintf(&out, "%s: %s %s: %s\n  %s\n", f.Object, f.Level, f.Rule, f.Message, f.Path)
		} else {
			fmt.Fprintf(&out, "%s: %s %s: %s\n  %s  %s\n", f.place(), f.Level, f.Rule, f.Message, f.Object, f.Path)
		}
		if line := f.sourceLine(); line != "" {
			number := fmt.Sprintf("%5d | ", f.Line)
			fmt.Fprintf(&out, "%s%s\n%*s^\n", number, line, len(number)+f.Column-1, "")
		}
		if f.Fix != "" {
			fmt.Fprintf(&out, "  fix: %s\n", f.Fix)
		}
		out.WriteByte('\n')
	}
	_, err := w.Write(out.Bytes())
	return err
}

// place returns the file, line and column of a finding, or the object and its field if there is no file.
func (f Finding) place() string {
	if f.File == "" {
		return f.Object + " " + f.Path
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// sourceLine returns the line of a finding, unless it is too long to show.
func (f Finding) sourceLine() string {
	const widest = 160
	if f.source == nil {
		return ""
	}
	start := f.source.lineStart(f.Line - f.source.line)
	if start < 0 {
		return ""
	}
	line, _, _ := strings.Cut(f.source.text[start:], "\n")
	if len(line) > widest {
		return ""
	}
	return strings.TrimRight(strings.ReplaceAll(line, "\t", " "), "\r")
}

// github prints workflow commands. Findings about objects of a cluster contain no file. Source:
// docs.github.com/actions/reference/workflow-commands-for-github-actions.
func github(w io.Writer, findings []Finding) error {
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range findings {
		level := f.Level
		if f.Severity == Info {
			level = "notice"
		}
		message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(f.Message)
		at := fmt.Sprintf("file=%s,line=%d,col=%d,", escape.Replace(f.File), f.Line, f.Column)
		if f.File == "" {
			at, message = "", f.place()+": "+message
		}
		if _, err := fmt.Fprintf(w, "::%s %stitle=%s::%s\n", level, at, f.Rule, message); err != nil {
			return err
		}
	}
	return nil
}

type junitCase struct {
	XMLName xml.Name `xml:"testcase"`
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Failure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	} `xml:"failure"`
}

func junit(w io.Writer, findings []Finding) error {
	suite := struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Cases    []junitCase
	}{Name: "casement lint", Tests: len(findings), Failures: len(findings)}
	for _, f := range findings {
		c := junitCase{Name: f.Rule + " " + f.Path, Class: f.Object}
		c.Failure.Type, c.Failure.Message = f.Level, f.Message
		c.Failure.Text = f.place()
		suite.Cases = append(suite.Cases, c)
	}
	data, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

// sarif returns a log of version 2.1.0. Source: docs.oasis-open.org/sarif/sarif/v2.1.0.
func sarif(findings []Finding, rules []Rule) any {
	level := func(s Severity) string {
		if s == Info {
			return "note"
		}
		return s.String()
	}
	var described, results []any
	for _, r := range rules {
		described = append(described, map[string]any{
			"id": r.ID, "shortDescription": map[string]string{"text": r.Title}, "fullDescription": map[string]string{"text": r.Doc},
			"defaultConfiguration": map[string]string{"level": level(r.Severity)},
		})
	}
	for _, f := range findings {
		location := map[string]any{"logicalLocations": []any{map[string]string{"fullyQualifiedName": f.Object + " " + f.Path}}}
		if f.File != "" {
			location["physicalLocation"] = map[string]any{
				"artifactLocation": map[string]string{"uri": f.File},
				"region":           map[string]int{"startLine": f.Line, "startColumn": f.Column},
			}
		}
		results = append(results, map[string]any{
			"ruleId": f.Rule, "level": level(f.Severity), "message": map[string]string{"text": f.Message}, "locations": []any{location},
		})
	}
	if results == nil {
		results = []any{}
	}
	return map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{
			"tool":    map[string]any{"driver": map[string]any{"name": "casement lint", "rules": described}},
			"results": results,
		}},
	}
}
