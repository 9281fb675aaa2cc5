// Package kubeconfig parses kubeconfigs from untrusted authors: any user who may write the Secret of a cluster
// determines its content. A kubeconfig can name programs to run and files to read on the machine that loads it; this
// package permits neither.
//
// It opens no connections and reads no Secrets. The command line, the controllers, internal/diagnose/facts and
// internal/helm import it.
package kubeconfig

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config returns the configuration of a kubeconfig's current context. It returns an error if data is no kubeconfig, or
// if the user or the cluster of that context names a program or a file. No error quotes the kubeconfig, because it is
// secret.
func Config(data []byte) (*rest.Config, error) {
	all, err := clientcmd.Load(data)
	if err != nil {
		return nil, errors.New("it is no kubeconfig")
	}
	context := all.Contexts[all.CurrentContext]
	if context == nil {
		return nil, errors.New("its current context is not there")
	}
	var named []string
	if user := all.AuthInfos[context.AuthInfo]; user != nil {
		for field, set := range map[string]bool{"exec": user.Exec != nil, "auth-provider": user.AuthProvider != nil,
			"tokenFile": user.TokenFile != "", "client-certificate": user.ClientCertificate != "", "client-key": user.ClientKey != ""} {
			if set {
				named = append(named, field)
			}
		}
	}
	if cluster := all.Clusters[context.Cluster]; cluster != nil && cluster.CertificateAuthority != "" {
		named = append(named, "certificate-authority")
	}
	if len(named) > 0 {
		slices.Sort(named)
		return nil, fmt.Errorf("it names a program or a file of this machine (%s), which a cluster's kubeconfig may not: give the "+
			"credentials themselves", named[0])
	}
	cfg, err := clientcmd.NewDefaultClientConfig(*all, nil).ClientConfig()
	if err != nil {
		return nil, errors.New("it is no complete kubeconfig")
	}
	return cfg, nil
}
