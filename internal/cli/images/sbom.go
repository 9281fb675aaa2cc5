package images

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
)

func newImagesSBOM(a *app.App) *cobra.Command {
	var pins string
	c := &cobra.Command{
		Use:   "sbom FILE",
		Short: "List what goes onto an image, with licences, as CycloneDX",
		Long: `Print the bill of materials of an image build in CycloneDX 1.6: Windows, each download with its
address, checksum and licence, and the container images that are pulled in advance. A
component of one's own has the licence of its field license. Nothing is asked or downloaded;
the time is that of SOURCE_DATE_EPOCH, else now.`,
		Example: `  casement images sbom windows-2022.yaml --pins windows-2022.sha256 > windows-2022.cdx.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := readBuild(args[0], pins)
			if err != nil {
				return app.Usagef("%w", err)
			}
			created := time.Now()
			if epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
				created = time.Unix(epoch, 0)
			}
			text, err := b.SBOM(created)
			if err != nil {
				return err
			}
			_, err = a.Data().Write(text)
			return err
		},
	}
	c.Flags().StringVar(&pins, "pins", "", `list of checksums, a line "SHA256  URL" for each download`)
	return c
}
