package azure

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/azuresim/template"
	"casement.dev/casement/azuresim/template/datum"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/input"
)

// expandOptions are the scope and location of a template's deployment, by the names that Bicep's snapshots use.
type expandOptions struct {
	parameters, output                                    string
	subscription, tenant, group, location, deploymentName string
}

func newAzureExpand(a *app.App) *cobra.Command {
	var o expandOptions
	c := &cobra.Command{
		Use:   "expand FILE|DIR|GLOB|-...",
		Short: "Print what an ARM template or a built Bicep file becomes",
		Long: `Print what a deployment of ARM templates would make: each resource with its whole body,
those of nested deployments too, and the outputs. A Bicep file is built first, with
'bicep build FILE' or 'az bicep build'. Values that only a deployed resource knows stay
the text of their expression, as [reference('...').x]; so do secure parameters.

The output has the shape of Bicep's snapshots: predictedResources, outputs and
diagnostics, which are what the deployment service refuses beyond the template
language. Any resource type of any provider is expanded. Nothing has to run.

Of a directory, a glob or several files, each template is expanded with the
NAME.parameters.json beside it. Exit codes: 0 all expand, 1 some are refused.`,
		Example: `  casement azure expand main.json --parameters main.parameters.json
  bicep build main.bicep --stdout | casement azure expand - -o table
  casement azure expand templates/ -o json > expanded.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return expand(a, args, o) },
	}
	f := c.Flags()
	f.StringVar(&o.parameters, "parameters", "", "a file of parameters")
	f.StringVar(&o.subscription, "subscription-id", "00000000-0000-0000-0000-0000000000a1", "the subscription")
	f.StringVar(&o.tenant, "tenant-id", localTenant, "the tenant")
	f.StringVar(&o.group, "resource-group", "rg1", "the resource group that the template is deployed to")
	f.StringVar(&o.location, "location", "westeurope", "the group's location, or that of a deployment to a subscription")
	f.StringVar(&o.deploymentName, "deployment-name", "dep1", "the name of the deployment")
	f.StringVarP(&o.output, "output", "o", "json", "json, yaml or table")
	return c
}

// Expansion is the result for one of several templates.
type Expansion struct {
	File string `json:"file"`
	*template.Prediction
	Error string `json:"error,omitempty"`
}

func expand(a *app.App, args []string, o expandOptions) error {
	files, many, err := templateFiles(args)
	if err != nil {
		return err
	}
	if many && o.parameters != "" {
		return app.Usagef("--parameters is for one template; of several, each has the NAME.parameters.json beside it")
	}
	if !many {
		p, err := expandFile(a, files[0], o.parameters, o)
		if err != nil {
			return err
		}
		if err := a.Print(o.output, p, func(w io.Writer) { expansionTable(w, []Expansion{{Prediction: p}}) }); err != nil {
			return err
		}
		return refusals([]Expansion{{File: files[0], Prediction: p}})
	}
	all := []Expansion{}
	for _, file := range files {
		parameters := strings.TrimSuffix(file, filepath.Ext(file)) + ".parameters.json"
		if _, err := os.Stat(parameters); err != nil {
			parameters = ""
		}
		p, err := expandFile(a, file, parameters, o)
		x := Expansion{File: file, Prediction: p}
		if err != nil {
			x.Error = err.Error()
		}
		all = append(all, x)
	}
	if err := a.Print(o.output, all, func(w io.Writer) { expansionTable(w, all) }); err != nil {
		return err
	}
	return refusals(all)
}

// refusals returns an error if a template is refused.
func refusals(all []Expansion) error {
	var out []error
	for _, x := range all {
		switch {
		case x.Error != "":
			out = append(out, errors.New(x.Error)) // the error names the file
		case len(x.Diagnostics) > 0:
			out = append(out, fmt.Errorf("%s: %s", x.File, x.Diagnostics[0].Message))
		}
	}
	return errors.Join(out...)
}

// templateFiles returns the templates that the arguments name; many is true unless the argument is one file.
func templateFiles(args []string) (files []string, many bool, err error) {
	for _, arg := range args {
		if arg == "-" {
			files = append(files, arg)
			continue
		}
		found, err := filepath.Glob(arg)
		if err != nil {
			return nil, false, app.Usagef("the pattern %s: %w", arg, err)
		}
		if len(found) == 0 {
			return nil, false, fmt.Errorf("%s: %w", arg, fs.ErrNotExist)
		}
		many = many || len(found) > 1
		for _, f := range found {
			if info, err := os.Stat(f); err == nil && info.IsDir() {
				below, err := templatesBelow(f)
				if err != nil {
					return nil, false, err
				}
				many, files = true, append(files, below...)
				continue
			}
			files = append(files, f)
		}
	}
	return files, many || len(files) > 1, nil
}

// templatesBelow returns the files of a directory that are templates.
func templatesBelow(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		info, err := os.Stat(path)
		if err != nil || input.Regular(info) != nil {
			return nil // a dangling link, or a file that is not regular
		}
		if data, err := input.File(path, maxTemplate); err == nil {
			o, err := datum.DecodeObject(data)
			if err == nil && strings.Contains(strings.ToLower(o.Text("$schema")), "deploymenttemplate.json") {
				files = append(files, path)
			}
		}
		return nil
	})
	return files, err
}

// maxTemplate is the maximum size of a template in bytes; the deployment service accepts 4 MiB.
const maxTemplate = 16 << 20

// readInput reads a file, or standard input for "-", of at most limit bytes.
func readInput(file string, in io.Reader, limit int64) ([]byte, error) {
	if file == "-" {
		return input.All(in, file, limit)
	}
	return input.File(file, limit)
}

func expandFile(a *app.App, file, parameters string, o expandOptions) (*template.Prediction, error) {
	if filepath.Ext(file) == ".bicep" {
		return nil, app.Usagef("%s is Bicep: build it first, with: bicep build %s", file, shellQuote(file))
	}
	data, err := readInput(file, a.In, maxTemplate)
	if err != nil {
		return nil, err
	}
	raw, err := datum.DecodeObject(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	given, err := givenParameters(parameters)
	if err != nil {
		return nil, err
	}
	c := template.Context{Subscription: o.subscription, Tenant: o.tenant, Group: o.group, Location: o.location, Deployment: o.deploymentName,
		HideSecrets: true}
	switch schema := strings.ToLower(raw.Text("$schema")); {
	case strings.Contains(schema, "subscriptiondeploymenttemplate"):
		c.Group = ""
	case strings.Contains(schema, "managementgroupdeploymenttemplate"), strings.Contains(schema, "tenantdeploymenttemplate"):
		return nil, fmt.Errorf("%s: deployments to management groups and tenants are not supported", file)
	}
	t, err := template.New(raw, given, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t.Predict()
}

// givenParameters reads a file of parameters, in the format of az or as an object of names and values.
func givenParameters(file string) (*datum.Object, error) {
	if file == "" {
		return nil, nil
	}
	data, err := input.File(file, maxTemplate)
	if err != nil {
		return nil, err
	}
	o, err := datum.DecodeObject(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if p := o.Object("parameters"); p != nil {
		return p, nil
	}
	out := &datum.Object{}
	for name, v := range o.All() {
		out.Set(name, datum.New("value", v))
	}
	return out, nil
}

func expansionTable(w io.Writer, all []Expansion) {
	many := len(all) > 1
	if many {
		fmt.Fprint(w, "FILE\t")
	}
	fmt.Fprintln(w, "TYPE\tNAME\tGROUP\tAPI VERSION")
	for _, x := range all {
		if x.Prediction == nil {
			fmt.Fprintf(w, "%s\trefused\t\t\t\n", x.File)
			continue
		}
		for _, r := range x.Resources {
			if many {
				fmt.Fprint(w, x.File+"\t")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Text("type"), r.Text("name"), groupOfID(r.Text("id")), r.Text("apiVersion"))
		}
	}
}

// groupOfID returns the resource group in an ID, or "".
func groupOfID(id string) string {
	parts := strings.Split(id, "/")
	i := slices.IndexFunc(parts, func(s string) bool { return strings.EqualFold(s, "resourceGroups") })
	if i < 0 || i+1 >= len(parts) {
		return ""
	}
	return parts[i+1]
}
