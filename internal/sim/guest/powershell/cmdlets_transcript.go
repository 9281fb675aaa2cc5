package powershell

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// transcript is a transcript's file, and the session's output streams before Start-Transcript replaced them.
type transcript struct {
	file           string
	stdout, stderr io.Writer
}

// transcriptWriter is a writer to an output stream of the host and to the file of a transcript.
type transcriptWriter struct {
	r    *run
	to   io.Writer
	file string
}

func (t transcriptWriter) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	if err == nil {
		err = t.r.writeFile(t.file, p, true)
	}
	return n, err
}

var transcriptCmdlets = []cmdlet{
	{name: "Start-Transcript", parameters: "Path|LiteralPath+:0 OutputDirectory+ Append? Force?~ NoClobber?", run: startTranscript,
		should: true},
	{name: "Stop-Transcript", run: stopTranscript},
}

const transcriptRule = "**********************\r\n"

func startTranscript(c *call) error {
	user, _ := c.env("USERNAME")
	now := c.now().Format("20060102150405")
	name := c.textOf("path")
	if name == "" {
		folder := c.session.Env["USERPROFILE"] + `\Documents`
		if c.has("outputdirectory") {
			folder = c.textOf("outputdirectory")
		}
		name = combine(folder, fmt.Sprintf("PowerShell_transcript.%s.%08x.%s.txt", c.m.Hostname(), rand.Int64N(1<<31), now))
	}
	file := c.path(name)
	if c.is("noclobber") && !c.is("append") && c.m.Root.Exists(file) {
		return noClobberFailure(file)
	}
	if yes, err := c.should("Start-Transcript", file); err != nil || !yes {
		return err
	}
	if err := c.m.Root.MkdirAll(parent(file)); err != nil {
		return diskError(err, file)
	}
	head := fmt.Sprintf("%sWindows PowerShell transcript start\r\nStart time: %s\r\nUsername: %s\\%s\r\n"+
		"Machine: %s (Microsoft Windows NT %s)\r\nProcess ID: 4242\r\nPSVersion: %s\r\n%s", transcriptRule, now, c.m.ComputerName,
		user, c.m.ComputerName, c.m.Image.Build, text(psVersion()), transcriptRule)
	if err := c.writeFile(file, []byte(head), c.is("append")); err != nil {
		return err
	}
	s := &c.session
	c.transcripts = append(c.transcripts, transcript{file, s.Stdout, s.Stderr})
	s.Stdout, s.Stderr = transcriptWriter{c.run, s.Stdout, file}, transcriptWriter{c.run, s.Stderr, file}
	return c.emit("Transcript started, output file is " + name)
}

func stopTranscript(c *call) error {
	last := len(c.transcripts) - 1
	if last < 0 {
		f := broken("System.Management.Automation.PSInvalidOperationException", "InvalidOperation",
			"An error occurred stopping transcription: The host is not currently transcribing.")
		f.category = "InvalidOperation"
		return f
	}
	t := c.transcripts[last]
	c.transcripts = c.transcripts[:last]
	c.session.Stdout, c.session.Stderr = t.stdout, t.stderr
	tail := transcriptRule + "Windows PowerShell transcript end\r\nEnd time: " + c.now().Format("20060102150405") + "\r\n" + transcriptRule
	if err := c.writeFile(t.file, []byte(tail), true); err != nil {
		return err
	}
	return c.emit("Transcript stopped, output file is " + t.file)
}
