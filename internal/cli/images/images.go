// Package images has the commands on images: list, show, build, diff, pins, prune, retire, sbom.
//
// The images themselves are in internal/image and internal/azure/catalog. Only internal/cli may import it.
package images

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/windows"
)

func New(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "images",
		Short: "Say which images there are, and build one's own",
		Example: "  casement images list\n  casement images show v1.34.1 --release 2025\n" +
			"  casement images build windows-2022.yaml --pins windows-2022.sha256",
	}
	c.AddCommand(newImagesList(a), newImagesShow(a), newImagesBuild(a), newImagesPins(a), newImagesSBOM(a),
		newImagesDiff(a), newImagesPrune(a), newImagesRetire(a))
	return c
}

type imagesListOptions struct {
	azure.Account
	publisher, offer, sku, gallery, location, output string
}

func newImagesList(a *app.App) *cobra.Command {
	var o imagesListOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "List images of the marketplace, or of a community gallery",
		Long: `Ask Azure for images and print them as 'az vm image list --all' does: those whose
publisher, offer and SKU contain what is given. -o wide adds what is known to be on
them. Images of Kubernetes 1.27 and newer are mostly in a community gallery: --gallery
lists that of Cluster API's reference images, --gallery=NAME another.

` + azure.AccountHelp + `
The catalogue of the local Azure is simulated.`,
		Example: `  casement images list
  casement images list --sku 1dot22dot1- -o wide
  casement images list --gallery --sku win-2025 -o json
  casement images list --publisher MicrosoftWindowsServer --offer WindowsServer --subscription 00000000-0000-0000-0000-0000000000a1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := azure.Open(cmd.Context(), a, o.Account)
			if err != nil {
				return err
			}
			if o.gallery != "" {
				return listGallery(cmd.Context(), a, from, o)
			}
			list, err := catalog.New(from.Client, nil).Versions(cmd.Context(), o.location, o.publisher, o.offer, o.sku)
			if err != nil {
				return fmt.Errorf("%s: %w", from.Name, err)
			}
			return a.Print(o.output, list, func(w io.Writer) {
				if o.output != "wide" && a.Width(urnsWidth) < urnsWidth {
					urns(w, list)
					return
				}
				imageTable(w, list, o.output == "wide")
			})
		},
	}
	o.AddFlags(c)
	f := c.Flags()
	f.StringVar(&o.publisher, "publisher", windows.Publisher, "publishers that contain this")
	f.StringVar(&o.offer, "offer", "capi-windows", "offers that contain this")
	f.StringVar(&o.sku, "sku", "", "SKUs that contain this; with --gallery, image definitions")
	f.StringVar(&o.gallery, "gallery", "", "community gallery to list instead of the marketplace")
	f.Lookup("gallery").NoOptDefVal = windows.CommunityGallery
	f.StringVar(&o.location, "location", "westeurope", "Azure location")
	f.StringVarP(&o.output, "output", "o", "table", "table, wide, name, json or yaml")
	return c
}

func listGallery(ctx context.Context, a *app.App, from azure.Asked, o imagesListOptions) error {
	list, err := catalog.New(from.Client, nil).Gallery(ctx, o.location, o.gallery, o.sku)
	if err != nil {
		return fmt.Errorf("%s: %w", from.Name, err)
	}
	return a.Print(o.output, list, func(w io.Writer) {
		rows := [][]string{{"Definition", "OsType", "Version"}}
		if o.output == "wide" {
			rows[0] = append(rows[0], onImageHeads()...)
		}
		for _, i := range list {
			row := []string{i.Definition, i.OSType, i.Version}
			if o.output == "wide" {
				row = append(row, onImage(i.ID)...)
			}
			rows = append(rows, row)
		}
		dashed(w, rows)
	})
}

// urnsWidth is the minimum width for a readable table of images: its cells contain the URN, which is the argument of
// other commands.
const urnsWidth = 140

// urns prints only the URNs, for a terminal that is too narrow for the table.
func urns(w io.Writer, list []catalog.Listed) {
	rows := [][]string{{"Urn"}}
	for _, i := range list {
		rows = append(rows, []string{i.URN})
	}
	dashed(w, rows)
}

// imageTable prints the columns that az prints; wide adds casement's own columns.
func imageTable(w io.Writer, list []catalog.Listed, wide bool) {
	rows := [][]string{{"Architecture", "Offer", "Publisher", "Sku", "Urn", "Version"}}
	if wide {
		rows[0] = append(rows[0], onImageHeads()...)
	}
	for _, i := range list {
		row := []string{i.Architecture, i.Offer, i.Publisher, i.SKU, i.URN, i.Version}
		if wide {
			row = append(row, onImage(i.URN)...)
		}
		rows = append(rows, row)
	}
	dashed(w, rows)
}

func onImageHeads() []string {
	return []string{"Kubernetes", "Runtime", "Kernel", "SupportEnds", "SupportedBy", "Regressions"}
}

// onImage returns the properties of an image that its name states.
func onImage(reference string) []string {
	version := reference[strings.LastIndexAny(reference, ":/")+1:]
	if build, ok := windows.MarketplaceBuild(version); ok {
		r, _ := windows.ReleaseByBuild(build)
		return []string{"-", "-", build, r.EndOfSupport.Format(time.DateOnly), supporters(r, 0), regressions(windows.Judge(build,
			windows.HitsHost))}
	}
	on, ok := windows.ParseImage(reference)
	if !ok {
		return []string{"-", "-", "-", "-", "-", "-"}
	}
	known, by := "-", "-"
	if on.OS == windows.OSWindows {
		known, by = "not known", supporters(on.Release, minorOf(on.KubernetesVersion)) // the name of a reference image contains no build
	}
	ends := "-"
	if on.OS == windows.OSWindows {
		ends = on.Release.EndOfSupport.Format(time.DateOnly)
	}
	return []string{on.KubernetesVersion, on.Runtime + " " + on.RuntimeVersion, on.KernelVersion, ends, by, known}
}

// projects are the projects whose support of a release is reported by images list and show.
var projects = []string{"Kubernetes", "Calico", "Azure CNI", "Flannel"}

// supporters returns, for a table cell, the projects that support a release without a condition with a Kubernetes minor version.
func supporters(r windows.Release, minor int) string {
	var out []string
	for _, by := range projects {
		if s, ok := windows.SupportOf(by, r.Name, minor); ok && s.Level == windows.Supported {
			out = append(out, by)
		}
	}
	return cmp.Or(strings.Join(out, ", "), "nobody")
}

// minorOf returns the minor version of a version such as v1.36.3, or 0.
func minorOf(version string) int {
	var minor int
	if _, err := fmt.Sscanf(version, "v1.%d", &minor); err != nil {
		return 0
	}
	return minor
}

// regressions returns, for a table cell, the updates with known regressions in a build.
func regressions(v windows.Verdict) string {
	var out []string
	for _, r := range v.Found {
		out = append(out, cmp.Or(r.KB, "before "+r.FixedBy))
	}
	switch {
	case len(out) > 0 && !v.Known:
		return strings.Join(slices.Compact(out), ", ") + ", others not known"
	case len(out) > 0:
		return strings.Join(slices.Compact(out), ", ")
	case !v.Known:
		return "not known"
	}
	return "none known"
}

// dashed prints rows as az does, with a line of dashes below the headings.
func dashed(w io.Writer, rows [][]string) {
	dashes := make([]string, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			dashes[i] = strings.Repeat("-", max(len(dashes[i]), len(cell)))
		}
	}
	for i, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
		if i == 0 {
			fmt.Fprintln(w, strings.Join(dashes, "\t"))
		}
	}
}

// ShownImage is the image for a Kubernetes version.
type ShownImage struct {
	Kubernetes     string `json:"kubernetes"`
	OS             string `json:"os"`
	Runtime        string `json:"runtime,omitempty"`
	RuntimeVersion string `json:"runtimeVersion,omitempty"`
	Gallery        string `json:"gallery,omitempty"`
	Definition     string `json:"definition,omitempty"`
	Publisher      string `json:"publisher,omitempty"`
	Offer          string `json:"offer,omitempty"`
	SKU            string `json:"sku,omitempty"`
	Version        string `json:"version"`
	Reference      string `json:"reference"`
	// Exists and Location are set when Azure was queried.
	Exists        *bool  `json:"exists,omitempty"`
	Location      string `json:"location,omitempty"`
	OSImage       string `json:"osImage,omitempty"`
	KernelVersion string `json:"kernelVersion,omitempty"`
	// Release, its dates and its age are set for Windows images.
	Release      string `json:"release,omitempty"`
	Released     string `json:"released,omitempty"`
	AgeDays      int    `json:"ageDays,omitempty"`
	EndOfSupport string `json:"endOfSupport,omitempty"`
	Supported    *bool  `json:"supported,omitempty"`
	// Support has all of Microsoft's dates; SupportedBy is the support of the release by Kubernetes and the CNIs.
	Support     string   `json:"support,omitempty"`
	SupportedBy []string `json:"supportedBy,omitempty"`
	// Regressions are the known regressions of KernelVersion, which such images contain although their names do not show it.
	Regressions string `json:"regressions,omitempty"`
}

func newImagesShow(a *app.App) *cobra.Command {
	var os, release, runtime, output, location string
	var check bool
	var t azure.Account
	c := &cobra.Command{
		Use:   "show KUBERNETES_VERSION",
		Short: "Say which image a machine boots when it names none",
		Long: `Resolve a Kubernetes version, Windows release and runtime to an image, as the
controllers do for a machine that names none, and say what is known to be on it and
until when Microsoft supports its Windows. Azure is asked with --check alone, whether
the image is there; exit code 1 says that it is not.

` + azure.AccountHelp,
		Example: `  casement images show v1.34.1
  casement images show v1.22.1 --runtime dockershim
  casement images show 1.34.1 --release 2025 -o json
  casement images show v1.34.1 --os Linux --check --location northeurope`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shown, image, err := showImage(args[0], os, release, runtime, time.Now())
			if err != nil {
				return app.Usagef("%w", err)
			}
			if check {
				if err := checkImage(cmd.Context(), a, t, &shown, image, location); err != nil {
					return err
				}
			}
			if err := a.Print(output, shown, func(w io.Writer) { shownTable(w, shown) }); err != nil {
				return err
			}
			if shown.Exists != nil && !*shown.Exists {
				return app.ExitError{Code: app.ExitFailed}
			}
			return nil
		},
	}
	t.AddFlags(c)
	f := c.Flags()
	f.StringVar(&os, "os", windows.OSWindows, "Windows or Linux")
	f.StringVar(&release, "release", "", "Windows Server release, such as 2022 (default what the version has)")
	f.StringVar(&runtime, "runtime", "", "containerd or dockershim (default what the version has)")
	f.BoolVar(&check, "check", false, "ask Azure whether the image is there")
	f.StringVar(&location, "location", "westeurope", "Azure location to look for the image in")
	f.StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

func checkImage(ctx context.Context, a *app.App, t azure.Account, shown *ShownImage, image windows.Image, location string) error {
	from, err := azure.Open(ctx, a, t)
	if err != nil {
		return err
	}
	exists, err := catalog.New(from.Client, nil).Exists(ctx, location, catalog.Image{
		Gallery: image.Gallery, Name: image.Name, Publisher: image.Publisher, Offer: image.Offer, SKU: image.SKU, Version: image.Version})
	if err != nil {
		return fmt.Errorf("%s: %w", from.Name, err)
	}
	shown.Exists, shown.Location = &exists, location
	return nil
}

func showImage(kubernetes, os, release, runtime string, now time.Time) (ShownImage, windows.Image, error) {
	annotations := map[string]string{}
	release = strings.TrimPrefix(release, "windows-") // the form of WINDOWS_SERVER_VERSION
	if release != "" {
		if r, ok := windows.ReleaseByName(release); !ok || !r.Node {
			return ShownImage{}, windows.Image{},
				fmt.Errorf("no nodes are built of Windows Server %q: use one of %s", release, nodeReleases())
		}
		if strings.Trim(release, "0123456789") != "" {
			return ShownImage{}, windows.Image{}, fmt.Errorf("no reference image of Windows Server %s is chosen "+
				"by itself: name one in the machine's spec.image, or use another of "+
				"%s", release, nodeReleases())
		}
		annotations[windows.WindowsServerVersionAnnotation] = "windows-" + release
	}
	if runtime != "" {
		annotations[windows.RuntimeAnnotation] = runtime
	}
	for _, one := range []string{windows.OSWindows, windows.OSLinux} {
		if strings.EqualFold(one, os) {
			os = one
		}
	}
	image, err := windows.DefaultImage(kubernetes, os, annotations)
	if err != nil {
		return ShownImage{}, windows.Image{}, err
	}
	shown := ShownImage{Kubernetes: "v" + strings.TrimPrefix(kubernetes, "v"), OS: os, Gallery: image.Gallery, Definition: image.Name,
		Publisher: image.Publisher, Offer: image.Offer, SKU: image.SKU, Version: image.Version, Reference: image.Reference()}
	if on, ok := windows.ParseImage(image.Reference()); ok {
		shown.Runtime, shown.RuntimeVersion, shown.OSImage, shown.KernelVersion = on.Runtime, on.RuntimeVersion,
			on.OSImage, on.KernelVersion
		if on.OS == windows.OSWindows {
			shown.date(on.Release, now)
			shown.Regressions = windows.Judge(on.KernelVersion, windows.HitsHost).String()
		}
	}
	return shown, image, nil
}

func (s *ShownImage) date(r windows.Release, now time.Time) {
	s.Release, s.Released, s.EndOfSupport = r.Name, r.Released.Format(time.DateOnly), r.EndOfSupport.Format(time.DateOnly)
	s.AgeDays, s.Supported = int(now.Sub(r.Released).Hours()/24), new(r.SupportedAt(now))
	if s.Support = r.Support(now); !*s.Supported {
		s.Support += ": choose a newer --release"
	}
	for _, by := range projects {
		if support, ok := windows.SupportOf(by, r.Name, minorOf(s.Kubernetes)); ok {
			s.SupportedBy = append(s.SupportedBy, support.String())
		}
	}
}

func nodeReleases() string {
	names := []string{}
	for _, r := range windows.Releases() {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

func shownTable(w io.Writer, s ShownImage) {
	row := func(name, value string) {
		if strings.TrimSpace(value) != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, value)
		}
	}
	row("Kubernetes", s.Kubernetes)
	row("OS", s.OS)
	row("Runtime", s.Runtime+" "+s.RuntimeVersion)
	row("Gallery", s.Gallery)
	row("Definition", s.Definition)
	row("Publisher", s.Publisher)
	row("Offer", s.Offer)
	row("SKU", s.SKU)
	row("Version", s.Version)
	row("Reference", s.Reference)
	if s.Exists != nil {
		row("In "+s.Location, map[bool]string{true: "yes", false: "no: choose another version, or build the image"}[*s.Exists])
	}
	row("OS image", s.OSImage)
	row("Kernel", s.KernelVersion)
	if s.Release == "" {
		return
	}
	row("Windows Server", fmt.Sprintf("%s, released %s (%d days ago)", s.Release, s.Released, s.AgeDays))
	row("Support", s.Support)
	for _, by := range s.SupportedBy {
		row("", by)
	}
	row("Regressions", s.Regressions+", of a machine with this kernel: casement doctor reads that of each node")
}
