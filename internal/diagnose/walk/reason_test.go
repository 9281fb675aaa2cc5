package walk

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/diagnose/cause"
)

// source is Go code that writes reasons, with the values of its string constants.
type source struct {
	files     []*ast.File
	constants map[string]string
}

// sourceOf parses the code below folders of the repository, without tests.
func sourceOf(t *testing.T, folders ...string) source {
	t.Helper()
	s := source{constants: map[string]string{}}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("..", "..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			s.files = append(s.files, file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range s.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if v, is := n.(*ast.ValueSpec); is {
				for i := range min(len(v.Names), len(v.Values)) {
					if text, has := literal(v.Values[i]); has {
						s.constants[v.Names[i].Name] = text
					}
				}
			}
			return true
		})
	}
	return s
}

func literal(e ast.Expr) (string, bool) {
	if l, is := e.(*ast.BasicLit); is && l.Kind == token.STRING {
		text, err := strconv.Unquote(l.Value)
		return text, err == nil
	}
	return "", false
}

// value returns the string of a literal or constant; "" if it is only known at run time.
func (s source) value(e ast.Expr) string {
	if text, is := literal(e); is {
		return text
	}
	switch e := e.(type) {
	case *ast.Ident:
		return s.constants[e.Name]
	case *ast.SelectorExpr:
		return s.constants[e.Sel.Name]
	}
	return ""
}

// reasonAt maps functions that set a condition that is not True to the index of the argument with its reason.
var reasonAt = map[string]int{"False": 2, "Unknown": 2, "Blocked": 0, "Failed": 0, "unsynced": 0, "set": 1}

// written returns the reasons that casement's controllers write.
func written(t *testing.T) map[string]bool {
	t.Helper()
	s := sourceOf(t, "internal/controller", "internal/azure/plan", "api/v1beta1")
	out := map[string]bool{}
	add := func(e ast.Expr) {
		if text := s.value(e); text != "" {
			out[text] = true
		}
	}
	for _, file := range s.files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				name := ""
				switch f := n.Fun.(type) {
				case *ast.SelectorExpr:
					name = f.Sel.Name
				case *ast.Ident:
					name = f.Name
				}
				if at, is := reasonAt[name]; is && len(n.Args) > at+1 {
					add(n.Args[at])
				}
				if name == "Explain" && len(n.Args) == 2 {
					add(n.Args[1])
				}
			case *ast.CompositeLit:
				if kind, is := n.Type.(*ast.Ident); is && kind.Name == "IdentityError" && len(n.Elts) > 0 {
					add(n.Elts[0])
				}
			case *ast.KeyValueExpr:
				if key, is := n.Key.(*ast.Ident); is && key.Name == "Reason" {
					add(n.Value)
				}
			}
			return true
		})
	}
	return out
}

// codes returns the codes that package arm classifies, and its classes, which are reasons too.
func codes(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, file := range sourceOf(t, "internal/azure/arm").files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name != "classOfCode" {
					return true
				}
				ast.Inspect(n, func(n ast.Node) bool {
					if c, is := n.(*ast.CaseClause); is {
						for _, e := range c.List {
							if text, is := literal(e); is {
								out[text] = true
							}
						}
					}
					return true
				})
			case *ast.ValueSpec:
				if kind, is := n.Type.(*ast.Ident); is && kind.Name == "Class" {
					text, _ := literal(n.Values[0])
					out[text] = true
				}
			}
			return true
		})
	}
	return out
}

// notKnown are the reasons that identify no cause: the message, which is shown completely, is decisive.
var notKnown = map[string]string{
	"Failed":                "Azure's state of an operation that gives no code",
	"Unexpected":            "an error of casement's controllers that has no code",
	"Deleted":               "said with the sentence that the VM was deleted in Azure",
	"DeletionFailed":        "the message has Azure's code",
	"BootstrapFailed":       "the boot log says what failed",
	"VMStopped":             "judged with the power state, not by a table",
	"AlreadyExists":         "the API server's answer to casement's controllers",
	"Gone":                  "the API server's answer to casement's controllers",
	"Expired":               "the API server's answer to casement's controllers",
	"Timeout":               "the API server's answer to casement's controllers",
	"InternalError":         "the API server's answer to casement's controllers",
	"MethodNotAllowed":      "the API server's answer to casement's controllers",
	"NotAcceptable":         "the API server's answer to casement's controllers",
	"RequestEntityTooLarge": "the API server's answer to casement's controllers",
	"UnsupportedMediaType":  "the API server's answer to casement's controllers",
}

// apiReasons are the reasons of an API server's errors, which the controllers pass on.
var apiReasons = []metav1.StatusReason{metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
	metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid,
	metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest,
	metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable, metav1.StatusReasonRequestEntityTooLarge,
	metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonInternalError, metav1.StatusReasonExpired,
	metav1.StatusReasonServiceUnavailable}

// TestEveryReason: each reason that casement's controllers can write, and each code of Azure that casement classifies,
// is a cause, work in progress, or listed as not known.
func TestEveryReason(t *testing.T) {
	ours, azure := written(t), codes(t)
	for _, must := range []string{"IdentityNotSet", "IdentityNotFound", "IdentityBeingDeleted", "InvalidConfiguration", "OwnedByAnother",
		"WaitingForBootstrapData", "VaultRefused", "CreateError", "WaitingForMachines", "Creating"} {
		if !ours[must] {
			t.Errorf("the reason %s is not found in the controllers: the search is broken", must)
		}
	}
	for _, must := range []string{"OverconstrainedZonalAllocationRequest", "InternalOperationError", "Capacity", "Unknown"} {
		if !azure[must] {
			t.Errorf("the code %s is not found in package arm: the search is broken", must)
		}
	}
	all := maps.Clone(ours)
	maps.Copy(all, azure)
	for _, reason := range apiReasons {
		all[string(reason)] = true
	}
	for _, reason := range slices.Sorted(maps.Keys(all)) {
		_, _, known := cause.Classify(cause.Azure, reason, "")
		_, excused := notKnown[reason]
		if !known && !excused && !inProgress(reason) && !good(reason) {
			t.Errorf("%s: no cause, not in progress, and not among those that are not known", reason)
		}
		if known && excused {
			t.Errorf("%s is known", reason)
		}
	}
	if testing.Verbose() {
		fmt.Println(len(ours), "reasons,", len(azure), "codes and classes")
	}
}

// good reports whether a reason is of a condition that is True.
func good(reason string) bool {
	return slices.Contains([]string{"Provisioned", "Ready", "Joined", "Stored", "Removed", "NotPaused", "Paused"}, reason)
}
