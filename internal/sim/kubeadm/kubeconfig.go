package kubeadm

import (
	"errors"

	"sigs.k8s.io/yaml"
)

// kubeconfig is the content of a kubeconfig's current context.
type kubeconfig struct {
	server string
	ca     []byte
	user   kubeconfigUser
}

// kubeconfigUser is a kubeconfig's credential.
type kubeconfigUser struct {
	Token    string `json:"token,omitempty"`
	CertFile string `json:"client-certificate,omitempty"`
	KeyFile  string `json:"client-key,omitempty"`
	CertData []byte `json:"client-certificate-data,omitempty"`
	KeyData  []byte `json:"client-key-data,omitempty"`
}

func (k *kubeconfig) hasCredential() bool {
	u := k.user
	return u.Token != "" || u.CertFile != "" || len(u.CertData) > 0
}

// kubeconfigFile is the part of the format that kubeadm and the kubelet use.
type kubeconfigFile struct {
	APIVersion     string         `json:"apiVersion"`
	Kind           string         `json:"kind"`
	Clusters       []namedCluster `json:"clusters"`
	Contexts       []namedContext `json:"contexts"`
	CurrentContext string         `json:"current-context"`
	Users          []namedUser    `json:"users"`
}

type namedCluster struct {
	Name    string `json:"name"`
	Cluster struct {
		Server string `json:"server"`
		CA     []byte `json:"certificate-authority-data,omitempty"`
	} `json:"cluster"`
}

type namedContext struct {
	Name    string `json:"name"`
	Context struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	} `json:"context"`
}

type namedUser struct {
	Name string         `json:"name"`
	User kubeconfigUser `json:"user"`
}

// parseKubeconfig returns the current context or, without a current context, the only cluster, as
// in cluster-info.
func parseKubeconfig(data []byte) (*kubeconfig, error) {
	var f kubeconfigFile
	if err := yaml.Unmarshal(data, &f); err != nil {
		return nil, errors.New("not a kubeconfig: the YAML cannot be read")
	}
	clusterName, userName := "", ""
	for _, c := range f.Contexts {
		if c.Name == f.CurrentContext {
			clusterName, userName = c.Context.Cluster, c.Context.User
		}
	}
	var k kubeconfig
	for _, c := range f.Clusters {
		if c.Name == clusterName || len(f.Clusters) == 1 {
			k.server, k.ca = c.Cluster.Server, c.Cluster.CA
		}
	}
	for _, u := range f.Users {
		if u.Name == userName {
			k.user = u.User
		}
	}
	if k.server == "" {
		return nil, errors.New("the kubeconfig's current context names no cluster")
	}
	return &k, nil
}

// render returns a kubeconfig with one cluster, one user and one context.
func (k *kubeconfig) render(userName string) ([]byte, error) {
	f := kubeconfigFile{APIVersion: "v1", Kind: "Config", CurrentContext: userName + "@kubernetes"}
	c := namedCluster{Name: "kubernetes"}
	c.Cluster.Server, c.Cluster.CA = k.server, k.ca
	x := namedContext{Name: f.CurrentContext}
	x.Context.Cluster, x.Context.User = c.Name, userName
	f.Clusters, f.Contexts, f.Users = []namedCluster{c}, []namedContext{x}, []namedUser{{Name: userName, User: k.user}}
	return yaml.Marshal(f)
}
