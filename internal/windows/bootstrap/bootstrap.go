// Package bootstrap checks bootstrap data before a virtual machine is created: whether the provisioning agent of the
// image (cloudbase-init on Windows, cloud-init on Linux) will understand it and kubeadm will join with it.
//
// It is a pure function over bytes and never shows their content, which is secret. It does not execute the data; the
// simulated guests do that, with their own code. Controllers, preflight and lint may import it.
package bootstrap

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"casement.dev/casement/internal/windows"
)

// MaxSize is the maximum number of bytes that Azure accepts as custom data, before base64. Source:
// OSProfile.customData, https://learn.microsoft.com/rest/api/compute/virtual-machines/create-or-update.
const MaxSize = 65535

// Problem is a part of the bootstrap data that the guest cannot process.
type Problem struct {
	// Field is the part of the data with the problem, such as "users[0].passwd"; "" for the data as a whole.
	Field string
	// Line is the line in the data, counted from 1; 0 if the problem is not in one line.
	Line int
	// Reason is the effect and its cause, and Fix the correction.
	Reason, Fix string
	// Warning is true if the machine can become a node nevertheless.
	Warning bool
}

// String returns the problem in one line.
func (p Problem) String() string {
	where := p.Field
	if p.Line > 0 {
		where = strings.TrimSpace(fmt.Sprintf("%s line %d", where, p.Line))
	}
	if where != "" {
		where += ": "
	}
	return where + p.Reason + "; " + p.Fix
}

// Check returns the problems of bootstrap data for a guest of an operating system, which is
// windows.OSWindows or windows.OSLinux. Errors come before warnings. Nil means that no problem is known.
// Source for the agents' behaviour: cloudbase-init's azureservice.py, userdata.py and cloudconfigplugins;
// cloud-init's documentation of user data formats.
func Check(os string, data []byte) []Problem {
	c := &checker{os: os, data: data}
	c.check()
	return append(c.errors, c.warnings...)
}

// Errors returns the problems that are not warnings.
func Errors(problems []Problem) []Problem {
	var errors []Problem
	for _, p := range problems {
		if !p.Warning {
			errors = append(errors, p)
		}
	}
	return errors
}

type checker struct {
	os               string
	data             []byte
	errors, warnings []Problem
}

func (c *checker) windows() bool { return c.os == windows.OSWindows }

func (c *checker) fail(field string, line int, reason, fix string) {
	c.errors = append(c.errors, Problem{Field: field, Line: line, Reason: reason, Fix: fix})
}

func (c *checker) warn(field string, line int, reason, fix string) {
	c.warnings = append(c.warnings, Problem{Field: field, Line: line, Reason: reason, Fix: fix, Warning: true})
}

func (c *checker) check() {
	if len(c.data) == 0 {
		c.fail("", 0, "the bootstrap data is empty", "look at the bootstrap provider's KubeadmConfig")
		return
	}
	if len(c.data) > MaxSize {
		c.fail("", 0, fmt.Sprintf("the bootstrap data has %d bytes and Azure takes %d", len(c.data), MaxSize),
			"move big files out of the KubeadmConfig, for instance into the image")
	}
	if !c.encoding() {
		return
	}
	body, templated := c.header()
	if body == nil {
		return
	}
	text := string(body)
	if templated {
		text = c.jinja(text)
	} else {
		c.unrendered(text)
	}
	c.cloudConfig(text)
}

// encoding reports whether the data is text in an encoding that the agent accepts.
func (c *checker) encoding() bool {
	switch {
	case bytes.HasPrefix(c.data, []byte{0x1f, 0x8b}):
		if c.windows() {
			c.fail("", 1, "the data is compressed, and cloudbase-init does not decompress custom data on Azure",
				"do not gzip bootstrap data of Windows machines")
		}
		return false
	case bytes.HasPrefix(c.data, []byte{0xef, 0xbb, 0xbf}), bytes.HasPrefix(c.data, []byte{0xff, 0xfe}),
		bytes.HasPrefix(c.data, []byte{0xfe, 0xff}):
		c.fail("", 1, "the data begins with a byte order mark, so its header is not recognised", "store it as UTF-8 without one")
		return false
	case !utf8.Valid(c.data):
		c.fail("", 0, "the data is not UTF-8", "store binary files with encoding base64")
		return false
	}
	return true
}

// header checks the first lines and returns the cloud-config, with its line numbers preserved, and whether it is a
// template. body is nil if there is no cloud-config to check.
func (c *checker) header() (body []byte, templated bool) {
	if isMIME(c.data) {
		c.mime()
		return nil, false
	}
	if ignition(c.data) {
		if c.windows() {
			c.fail("", 1, "the data is Ignition, which Windows images do not know", "set format cloud-config in the KubeadmConfig")
		}
		return nil, false
	}
	first, rest, _ := bytes.Cut(c.data, []byte("\n"))
	start := c.data
	if templateMarker(first) {
		templated, start = true, rest
	}
	switch {
	case bytes.HasPrefix(start, []byte("#cloud-config")):
		return c.data, templated
	case script(start):
		return nil, false
	}
	line := 1
	if templated {
		line = 2
	}
	c.fail("", line, "the line does not begin with #cloud-config, so the agent ignores the data",
		"begin it with #cloud-config, or with ## template: jinja and then #cloud-config, without blanks before")
	return nil, false
}

// templateMarker reports whether a line is the first line of a template.
func templateMarker(line []byte) bool {
	return regexp.MustCompile(`(?i)^##\s*template:\s*jinja\s*$`).Match(line)
}

// script reports whether the data is a script that the agents run unchanged.
func script(data []byte) bool {
	return regexp.MustCompile(`(?i)\A(#!|rem cmd\s|#ps1(_sysnative|_x86)?\s|<script>|<powershell>)`).Match(data)
}

func ignition(data []byte) bool {
	return regexp.MustCompile(`\A\s*\{\s*"ignition"`).Match(data)
}

func isMIME(data []byte) bool {
	head, _, _ := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n\n")
	return strings.Contains(strings.ToLower(head), "content-type: multipart")
}

// mime checks the parts of a MIME document.
func (c *checker) mime() {
	if !c.windows() {
		return
	}
	for i, line := range bytes.Split(c.data, []byte("\n")) {
		if templateMarker(bytes.TrimSuffix(line, []byte("\r"))) {
			c.fail("", i+1, "cloudbase-init does not render templates in parts of a MIME message", "send the cloud-config alone")
			return
		}
	}
}
