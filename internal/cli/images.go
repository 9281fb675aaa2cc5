package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/local"
	"casement.dev/casement/internal/windows"
)

func newImages(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "images",
		Short:   "Say which images there are, and which one a Kubernetes version means",
		Example: "  casement images list\n  casement images show v1.34.1 --release 2025",
	}
	c.AddCommand(newImagesList(a), newImagesShow(a))
	return c
}

type imagesListOptions struct {
	publisher, offer, sku, location, output string
}

func newImagesList(a *app) *cobra.Command {
	var o imagesListOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "List the marketplace images of the local Azure, as az vm image list does",
		Long: `Ask the local Azure for the versions of a publisher's offer and print them as
'az vm image list --publisher PUBLISHER --offer OFFER --all -o table' does. The local
Azure's catalogue is simulated. Images of Kubernetes 1.27 and newer are mostly in the
community gallery, which has no such list: see casement images show.`,
		Example: "  casement images list\n  casement images list --sku 1dot22 -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.listImages(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.print(o.output, list, func(w *tabwriter.Writer) { imageTable(w, list) })
		},
	}
	f := c.Flags()
	f.StringVar(&o.publisher, "publisher", windows.Publisher, "publisher")
	f.StringVar(&o.offer, "offer", "capi-windows", "offer")
	f.StringVar(&o.sku, "sku", "", "only SKUs that contain this")
	f.StringVar(&o.location, "location", "westeurope", "Azure location")
	f.StringVarP(&o.output, "output", "o", "table", "table, json or yaml")
	return c
}

func (a *app) listImages(ctx context.Context, o imagesListOptions) ([]catalog.Listed, error) {
	status, err := local.NewClient(a.dir).Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	if status.Azure.Endpoint == "" {
		return nil, errors.New("list images: the local Azure has not started yet; see casement status")
	}
	client, err := status.Azure.ARM()
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	return catalog.New(client, nil).Versions(ctx, o.location, o.publisher, o.offer, o.sku)
}

// imageTable has the columns of az, and its dashes below the heads.
func imageTable(w *tabwriter.Writer, list []catalog.Listed) {
	rows := [][]string{{"Architecture", "Offer", "Publisher", "Sku", "Urn", "Version"}}
	for _, i := range list {
		rows = append(rows, []string{i.Architecture, i.Offer, i.Publisher, i.SKU, i.URN, i.Version})
	}
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

// shownImage is what a Kubernetes version resolves to.
type shownImage struct {
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
	OSImage        string `json:"osImage,omitempty"`
	KernelVersion  string `json:"kernelVersion,omitempty"`
	// Release, its dates and age are of Windows.
	Release      string `json:"release,omitempty"`
	Released     string `json:"released,omitempty"`
	AgeDays      int    `json:"ageDays,omitempty"`
	EndOfSupport string `json:"endOfSupport,omitempty"`
	Supported    *bool  `json:"supported,omitempty"`
}

func newImagesShow(a *app) *cobra.Command {
	var os, release, runtime, output string
	c := &cobra.Command{
		Use:   "show KUBERNETES_VERSION",
		Short: "Say which image a machine of a Kubernetes version boots when it names none",
		Long: `Resolve a Kubernetes version, Windows release and runtime to an image, as the
controllers do for a machine that names none, and say what is known to be on it and
until when Microsoft supports its Windows. Nothing is asked of Azure.`,
		Example: "  casement images show v1.34.1\n  casement images show v1.22.1 --runtime dockershim\n  casement images show 1.34.1 --release 2025 -o json\n  casement images show v1.34.1 --os Linux",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			shown, err := showImage(args[0], os, release, runtime, time.Now())
			if err != nil {
				return usageError{err}
			}
			return a.print(output, shown, func(w *tabwriter.Writer) { shownTable(w, shown) })
		},
	}
	f := c.Flags()
	f.StringVar(&os, "os", windows.OSWindows, "Windows or Linux")
	f.StringVar(&release, "release", "", "Windows Server release, such as 2022 (default what the version has)")
	f.StringVar(&runtime, "runtime", "", "containerd or dockershim (default what the version has)")
	f.StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

func showImage(kubernetes, os, release, runtime string, now time.Time) (shownImage, error) {
	annotations := map[string]string{}
	if release != "" {
		if r, ok := windows.ReleaseByName(release); !ok || !r.Node {
			return shownImage{}, fmt.Errorf("no nodes are built of Windows Server %q: use one of %s", release, nodeReleases())
		}
		annotations[windows.WindowsServerVersionAnnotation] = "windows-" + release
	}
	if runtime != "" {
		annotations[windows.RuntimeAnnotation] = runtime
	}
	image, err := windows.DefaultImage(kubernetes, os, annotations)
	if err != nil {
		return shownImage{}, err
	}
	shown := shownImage{Kubernetes: "v" + strings.TrimPrefix(kubernetes, "v"), OS: os, Gallery: image.Gallery, Definition: image.Name,
		Publisher: image.Publisher, Offer: image.Offer, SKU: image.SKU, Version: image.Version, Reference: image.Reference()}
	if on, ok := windows.ParseImage(image.Reference()); ok {
		shown.Runtime, shown.RuntimeVersion, shown.OSImage, shown.KernelVersion = on.Runtime, on.RuntimeVersion, on.OSImage, on.KernelVersion
		if on.OS == windows.OSWindows {
			shown.date(on.Release, now)
		}
	}
	return shown, nil
}

func (s *shownImage) date(r windows.Release, now time.Time) {
	s.Release, s.Released, s.EndOfSupport = r.Name, r.Released.Format(time.DateOnly), r.EndOfSupport.Format(time.DateOnly)
	s.AgeDays, s.Supported = int(now.Sub(r.Released).Hours()/24), new(r.SupportedAt(now))
}

func nodeReleases() string {
	names := []string{}
	for _, r := range windows.Releases() {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

func shownTable(w *tabwriter.Writer, s shownImage) {
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
	row("OS image", s.OSImage)
	row("Kernel", s.KernelVersion)
	if s.Release == "" {
		return
	}
	row("Windows Server", fmt.Sprintf("%s, released %s (%d days ago)", s.Release, s.Released, s.AgeDays))
	support := "supported until " + s.EndOfSupport
	if !*s.Supported {
		support = "support ended " + s.EndOfSupport + ": choose a newer --release"
	}
	row("Support", support)
}
