package check

import (
	"fmt"
	"io"

	"github.com/pmezard/go-difflib/difflib"
)

// writeDiff prints the changes to a file as a unified diff.
func writeDiff(w io.Writer, file string, before, after []byte) error {
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(string(before)), B: difflib.SplitLines(string(after)), FromFile: "a/" + file, ToFile: "b/" + file, Context: 3,
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(w, text)
	return err
}
