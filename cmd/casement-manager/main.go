// Command casement-manager runs casement's controllers and webhooks beside a
// management cluster's Cluster API.
package main

import (
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // the image contains no certificate authorities
	ctrl "sigs.k8s.io/controller-runtime"

	"casement.dev/casement/internal/manager"
)

func main() {
	if err := manager.Run(ctrl.SetupSignalHandler(), os.Args[1:], os.Getenv, os.Stderr); err != nil {
		os.Exit(1)
	}
}
