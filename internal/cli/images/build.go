package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/image"
	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/plane"
)

func newImagesBuild(a *app.App) *cobra.Command {
	var t azure.Account
	var pins string
	var show, keep, join bool
	c := &cobra.Command{
		Use:   "build FILE",
		Short: "Build a node image from a file, into a Compute Gallery",
		Long: `Build the image that an ImageBuild describes: boot a virtual machine of a marketplace
image, install on it by Run Command, generalize and capture it, boot a machine of the new
version to check that, and publish the version. Only Azure Resource Manager is asked; no
port of the machine is open.

--join makes a throw-away cluster with a machine of the version before that is published,
in a namespace and a resource group of its own, and waits until the machine is a Ready
node (spec.timeouts.join). It needs a management cluster with casement: that of
--kubeconfig, else $KUBECONFIG, else the local plane. The variables of the cluster's
template are those of 'casement generate cluster'.

The same command resumes a build that was ended. A build that fails deletes what it has
made; --keep leaves it to look at. Each download has a SHA-256, in the file or in the list
of --pins, which 'casement images pins' writes.

` + azure.AccountHelp,
		Example: `  casement images pins windows-2022.yaml > windows-2022.sha256
  casement images build windows-2022.yaml --pins windows-2022.sha256
  casement images build windows-2022.yaml --pins windows-2022.sha256 --join
  casement images build windows-2022.yaml --print`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := readBuild(args[0], pins)
			if err != nil {
				return app.Usagef("%w", err)
			}
			if show {
				return printBuild(a, b)
			}
			from, err := azure.Open(cmd.Context(), a, t)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "building %s in %s\n", b.Metadata.Name, from.Name)
			config := image.Config{Client: from.Client, Build: b, Out: a.Out, Keep: keep}
			if join {
				config.Join = trials{a, t.Target}
			}
			result, err := image.Run(cmd.Context(), config)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Out, result.VersionID)
			return nil
		},
	}
	t.AddFlags(c)
	f := c.Flags()
	f.StringVar(&pins, "pins", "", `list of checksums, a line "SHA256  URL" for each download`)
	f.BoolVar(&show, "print", false, "print the steps and the scripts, and ask and change nothing")
	f.BoolVar(&join, "join", false, "let a machine of the version join a throw-away cluster before it is published")
	f.BoolVar(&keep, "keep", false, "keep what a build that fails has made, which costs money")
	return c
}

// readBuild reads a build and its list of checksums.
func readBuild(file, pins string) (*image.ImageBuild, error) {
	b, err := image.Read(file)
	if err != nil || pins == "" {
		return b, err
	}
	list, err := input.File(pins, input.Small)
	if err != nil {
		return nil, err
	}
	if err := b.Pin(bytes.NewReader(list)); err != nil {
		return nil, fmt.Errorf("%s: %w", pins, err)
	}
	return b, nil
}

// printBuild prints the steps of a build without running it.
func printBuild(a *app.App, b *image.ImageBuild) error {
	scripts, err := b.Scripts()
	if err != nil {
		return err
	}
	for i, s := range image.Steps() {
		fmt.Fprintf(a.Out, "# step %d, %s: %s\n", i+1, s.Name, s.Does)
	}
	fmt.Fprintf(a.Out, "\n# shared by all scripts but one's own\n%s\n", b.Library())
	for _, s := range scripts {
		fmt.Fprintf(a.Out, "# script %s: %s\n%s\n", s.Name, s.Does, strings.TrimSpace(s.Script)+"\n")
	}
	return nil
}

func newImagesPins(a *app.App) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "pins FILE",
		Short: "List the downloads of an image build with their checksums",
		Long: `Read, for each download of an ImageBuild, the checksum that its publisher has beside it
(URL.sha256, URL.sha256sum or a list of its release), and write the list that
'casement images build FILE --pins' takes.
A download without a published checksum is a comment: pin it by hand. Keep the list with
the file; a build itself takes no checksum from the network.

The machines of the local Azure download stubs, which have checksums of their own:
--azure local lists those. Such a list is of no use in Azure.`,
		Example: `  casement images pins windows-2022.yaml > windows-2022.sha256
  casement images pins windows-2022.yaml --azure local > local.sha256`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := image.Read(args[0])
			if err != nil {
				return app.Usagef("%w", err)
			}
			if from != "env" && from != "local" {
				return app.Usagef("--azure is env or local, not %q", from)
			}
			sums := publishedSums
			if from == "local" {
				sums = func(ctx context.Context, urls []string) (map[string]string, map[string]error, error) {
					return stubSums(ctx, a, urls)
				}
			}
			return printPins(cmd.Context(), a, b.Downloads(), sums)
		},
	}
	c.Flags().StringVar(&from, "azure", "env", "whose downloads: env (the publishers') or local (the stubs of the local plane's Azure)")
	return c
}

// sums returns the checksums of downloads by URL, and for the other downloads the reason why there is none.
type sums func(ctx context.Context, urls []string) (found map[string]string, missing map[string]error, err error)

func printPins(ctx context.Context, a *app.App, urls []string, of sums) error {
	found, missing, err := of(ctx, urls)
	if err != nil {
		return err
	}
	for _, url := range urls {
		if sum, ok := found[url]; ok {
			fmt.Fprintf(a.Out, "%s  %s\n", sum, url)
			continue
		}
		fmt.Fprintf(a.Out, "# no published checksum of %s: %v\n", url, missing[url])
	}
	return nil
}

// stubSums reads the checksums of the local plane's own downloads.
func stubSums(ctx context.Context, a *app.App, urls []string) (map[string]string, map[string]error, error) {
	found, err := plane.NewClient(a.Dir).Pins(ctx, urls...)
	missing := map[string]error{}
	for _, url := range urls {
		missing[url] = errors.New("the local Azure has no stub for it")
	}
	return found, missing, err
}

// publishedSums reads checksums from the publishers' sites.
func publishedSums(ctx context.Context, urls []string) (map[string]string, map[string]error, error) {
	client := &http.Client{Timeout: time.Minute}
	found, missing := map[string]string{}, map[string]error{}
	for _, url := range urls {
		if sum, err := publishedSum(ctx, client, url); err != nil {
			missing[url] = err
		} else {
			found[url] = sum
		}
	}
	return found, missing, nil
}

// publishedSum reads the checksum file that is published beside a download.
func publishedSum(ctx context.Context, client *http.Client, url string) (string, error) {
	var last error
	name := path.Base(url)
	stem, _, _ := strings.Cut(name, ".")
	// runc publishes one list of all files of a release.
	for _, list := range []string{url + ".sha256", url + ".sha256sum", strings.TrimSuffix(url, name) + stem + ".sha256sum"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, list, nil)
		if err != nil {
			return "", err
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
		resp.Body.Close()
		if err != nil {
			return "", err
		}
		if sum := sumIn(string(text), name); sum != "" && resp.StatusCode == http.StatusOK {
			return sum, nil
		}
		last = fmt.Errorf("%s is %s", list, resp.Status)
	}
	return "", last
}

// sumIn returns the checksum of a file in a list, or the checksum in a list that has only one; "" if there is none.
func sumIn(list, name string) string {
	lines := strings.Split(strings.TrimSpace(list), "\n")
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) == 0 || len(fields[0]) != 64 {
			continue
		}
		if len(lines) == 1 || len(fields) > 1 && strings.TrimPrefix(fields[1], "*") == name {
			return strings.ToLower(fields[0])
		}
	}
	return ""
}

func newImagesDiff(a *app.App) *cobra.Command {
	var t azure.Account
	var output string
	c := &cobra.Command{
		Use:   "diff VERSION_ID VERSION_ID",
		Short: "Show what two image versions hold that differs",
		Long: `Compare what two versions hold that 'casement images build' has made: the versions of the
programs that were found on a machine of each, which are tags of the version.

` + azure.AccountHelp,
		Example: "  casement images diff " +
			"/subscriptions/S/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes/images/win-2022/versions/1.0.0 \\\n" +
			"    /subscriptions/S/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes/images/win-2022/versions/1.1.0",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := azure.Open(cmd.Context(), a, t)
			if err != nil {
				return err
			}
			var contents [2]map[string]string
			for i, id := range args {
				if contents[i], err = image.Holds(cmd.Context(), from.Client, id); err != nil {
					return err
				}
			}
			rows := contentsDiff(contents[0], contents[1])
			return a.Print(output, rows, func(w io.Writer) {
				for _, r := range rows {
					fmt.Fprintf(w, "%s\t%s\t%s\n", r.Program, r.A, r.B)
				}
				if len(rows) == 0 {
					fmt.Fprintln(w, "Both hold the same.")
				}
			})
		},
	}
	t.AddFlags(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

// ContentRow is a program whose versions differ between two image versions; "" means that it is missing.
type ContentRow struct {
	Program string `json:"program"`
	A       string `json:"a"`
	B       string `json:"b"`
}

func contentsDiff(a, b map[string]string) []ContentRow {
	all := maps.Clone(a)
	maps.Copy(all, b)
	rows := []ContentRow{}
	for _, program := range slices.Sorted(maps.Keys(all)) {
		if a[program] != b[program] {
			rows = append(rows, ContentRow{program, a[program], b[program]})
		}
	}
	return rows
}

func newImagesPrune(a *app.App) *cobra.Command {
	var t azure.Account
	var list, all bool
	c := &cobra.Command{
		Use:   "prune NAME...",
		Short: "Delete what image builds have left in Azure",
		Long: `Delete the resource groups of image builds, their throw-away clusters, and the versions
that they have not published:
those of the names, or with --all those of all builds of the subscription, also of builds
under way elsewhere. --list names them and deletes nothing.

` + azure.AccountHelp,
		Example: "  casement images prune --list\n  casement images prune windows-2022",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !list && all == (len(args) > 0) {
				return app.Usagef("name the builds to delete, or give --all; --list shows them")
			}
			from, err := azure.Open(cmd.Context(), a, t)
			if err != nil {
				return err
			}
			left, err := image.Leftovers(cmd.Context(), from.Client)
			if err != nil {
				return err
			}
			if len(left) == 0 {
				fmt.Fprintln(a.Out, "No image build has left anything.")
				return nil
			}
			if !list {
				return image.Prune(cmd.Context(), from.Client, trials{a, t.Target}, a.Out, args...)
			}
			for _, l := range left {
				fmt.Fprintf(a.Out, "%s: resource group %s, last step %s\n", l.Name, l.Group, orNone(l.Step))
			}
			return nil
		},
	}
	t.AddFlags(c)
	c.Flags().BoolVar(&all, "all", false, "delete what all builds of the subscription have left, also those under way")
	c.Flags().BoolVar(&list, "list", false, "list the builds and delete nothing")
	return c
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
