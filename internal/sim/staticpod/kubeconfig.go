package staticpod

import (
	"errors"
	"fmt"
	"path"

	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// Remake returns a kubeconfig that contains only the server, the certificates and the token of
// another kubeconfig's current context. A program that uses it dials from inside the guest. read
// returns a file that the kubeconfig names; relative names are relative to folder. The error names
// a field that would run a program or connect through another network.
func Remake(data []byte, folder string, read func(name string) ([]byte, error)) ([]byte, error) {
	return remake(data, folder, read, web)
}

// remake is Remake with a rule for the server's URL.
func remake(data []byte, folder string, read func(name string) ([]byte, error),
	server func(value string) (string, error)) ([]byte, error) {
	theirs, err := clientcmd.Load(data)
	if err != nil {
		return nil, errors.New("it is no kubeconfig") // the error could quote a token
	}
	current := theirs.Contexts[theirs.CurrentContext]
	if current == nil {
		return nil, errors.New("it has no current context")
	}
	r := reader{folder: folder, read: read, server: server}
	made := api.NewConfig()
	made.CurrentContext = "guest"
	made.Contexts["guest"] = &api.Context{Cluster: "guest", AuthInfo: "guest", Namespace: current.Namespace}
	if made.Clusters["guest"], err = r.cluster(current.Cluster, theirs.Clusters[current.Cluster]); err != nil {
		return nil, err
	}
	if made.AuthInfos["guest"], err = r.user(current.AuthInfo, theirs.AuthInfos[current.AuthInfo]); err != nil {
		return nil, err
	}
	return clientcmd.Write(*made)
}

type reader struct {
	folder string
	read   func(name string) ([]byte, error)
	server func(value string) (string, error)
}

// content returns value or, if it is empty, the contents of the file name, which the field gives.
func (r reader) content(field string, value []byte, name string) ([]byte, error) {
	if len(value) > 0 || name == "" {
		return value, nil
	}
	if !path.IsAbs(name) {
		name = path.Join(r.folder, name)
	}
	data, err := r.read(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return data, nil
}

func (r reader) cluster(name string, c *api.Cluster) (*api.Cluster, error) {
	at := fmt.Sprintf("clusters[%s].cluster", name)
	switch {
	case c == nil:
		return nil, fmt.Errorf("%s is not there", at)
	case c.ProxyURL != "":
		return nil, fmt.Errorf("%s.proxy-url is refused: it would be a proxy of the real machine", at)
	}
	server, err := r.server(c.Server)
	if err != nil {
		return nil, fmt.Errorf("%s.server: %w", at, err)
	}
	made := &api.Cluster{Server: server, TLSServerName: c.TLSServerName, InsecureSkipTLSVerify: c.InsecureSkipTLSVerify}
	made.CertificateAuthorityData, err = r.content(at+".certificate-authority", c.CertificateAuthorityData, c.CertificateAuthority)
	return made, err
}

func (r reader) user(name string, u *api.AuthInfo) (*api.AuthInfo, error) {
	at := fmt.Sprintf("users[%s].user", name)
	switch {
	case u == nil:
		return &api.AuthInfo{}, nil // for a webhook that requires no credential
	case u.Exec != nil:
		return nil, fmt.Errorf("%s.exec is refused: it would run a program on the real machine", at)
	case u.AuthProvider != nil:
		return nil, fmt.Errorf("%s.auth-provider is refused: it could run a program on the real machine", at)
	}
	made := &api.AuthInfo{Username: u.Username, Password: u.Password, Impersonate: u.Impersonate, ImpersonateGroups: u.ImpersonateGroups}
	var err error
	if made.ClientCertificateData, err = r.content(at+".client-certificate", u.ClientCertificateData, u.ClientCertificate); err != nil {
		return nil, err
	}
	if made.ClientKeyData, err = r.content(at+".client-key", u.ClientKeyData, u.ClientKey); err != nil {
		return nil, err
	}
	bearer, err := r.content(at+".tokenFile", []byte(u.Token), u.TokenFile)
	made.Token = string(bearer)
	return made, err
}

// remakeKubeconfig is Remake for a flag; it returns the path of the copy.
func (t *translation) remakeKubeconfig(flag, guest string) (string, error) {
	guest = guestPath(guest)
	data, err := t.Files.ReadFile(guest)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", guest, err)
	}
	// The API server connects to webhooks through its egress selector, from inside the guest; the
	// other programs dial from this computer.
	server := t.dialled
	if t.program == apiServer {
		server = web
	}
	made, err := remake(data, path.Dir(guest), t.Files.ReadFile, server)
	if err != nil {
		return "", fmt.Errorf("kubeconfig %s: %w", guest, err)
	}
	return t.keep(flag+".conf", made), nil
}
