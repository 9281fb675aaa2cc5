package cli

import "github.com/spf13/cobra"

// groups are the headings of the help with their commands. A command without a group is listed under the last heading.
var groups = []struct {
	title    string
	commands []string
}{
	{"The local plane:", []string{"up", "down", "status", "azure", "calls", "kubectl"}},
	{"Clusters:", []string{"generate", "get", "wait", "tree", "ui", "addons", "adopt", "fetch"}},
	{"When something is wrong:", []string{"why", "doctor", "timeline", "logs", "drift", "support", "mcp"}},
	{"On a machine:", []string{"ssh", "rdp", "cp"}},
	{"Before something is applied:", []string{"lint", "preflight", "images"}},
	{"More:", nil},
}

// group assigns the commands to their headings.
func group(root *cobra.Command) {
	of := map[string]string{}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, name := range g.commands {
			of[name] = g.title
		}
	}
	last := groups[len(groups)-1].title
	for _, c := range root.Commands() {
		if c.GroupID = of[c.Name()]; c.GroupID == "" {
			c.GroupID = last
		}
	}
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
}
