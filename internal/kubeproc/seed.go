package kubeproc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/google/uuid"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// etcdSocket is the socket of etcd in Config.Dir.
const etcdSocket = "etcd:1"

// crdPrefix is the prefix of the keys below which an API server stores CRDs.
const crdPrefix = "/registry/apiextensions.k8s.io/customresourcedefinitions/"

// seed writes the CRDs into a new etcd in the form in which an API server stores CRDs that it serves. An API server
// needs about two seconds to create them itself, because its controllers write the status of each CRD.
func (p *Plane) seed(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	dir, err := os.Open(p.cfg.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	// The path through the directory's file descriptor is short enough for the address of a socket, however long the
	// directory's own path is.
	socket := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), etcdSocket)
	var dialer net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	now := metav1.Now()
	return each(ctx, crds, func(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
		value, err := json.Marshal(established(crd, now))
		if err != nil {
			return err
		}
		return p.put(ctx, client, crdPrefix+crd.Name, value)
	})
}

// established returns a CRD in the state of one that the API server serves. Source: the defaults, the strategy and the
// controllers of apiextensions-apiserver.
func established(crd *apiextensionsv1.CustomResourceDefinition, now metav1.Time) *apiextensionsv1.CustomResourceDefinition {
	crd = defaulted(crd)
	crd.TypeMeta = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}
	crd.UID, crd.Generation, crd.CreationTimestamp = types.UID(uuid.NewString()), 1, now
	crd.Status.AcceptedNames = crd.Spec.Names
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: now,
			Reason: "NoConflicts", Message: "no conflicts found"},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: now,
			Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"},
	}
	return crd
}

// put writes a key through the JSON gateway of etcd's API, and waits until etcd serves, within the limits of await.
func (p *Plane) put(ctx context.Context, client *http.Client, key string, value []byte) error {
	body, err := json.Marshal(struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}{[]byte(key), value})
	if err != nil {
		return err
	}
	return p.persist(ctx, 10*time.Millisecond, func() (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/kv/put", bytes.NewReader(body))
		if err != nil {
			return false, err
		}
		err = send(client, request)
		return errors.Is(err, errNotServing) || errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED), err
	})
}

// errNotServing is wrapped by the error of a request that etcd could not execute yet, as on a busy machine.
var errNotServing = errors.New("etcd does not serve yet")

// send sends a request and returns an error unless the server executed it.
func send(client *http.Client, r *http.Request) error {
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("%w: it answers %s: %.300s", errNotServing, resp.Status, answer)
	}
	return fmt.Errorf("etcd answers %s: %.300s", resp.Status, answer)
}
