package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/constants"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/etcd"
	etcdutil "k8s.io/kubernetes/cmd/kubeadm/app/util/etcd"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/staticpod"

	"casement.dev/casement/internal/allowance"
)

// etcdTimeout limits each wait during the join of an etcd member, in this machine's time; callTimeout limits one call.
const (
	etcdTimeout = 2 * time.Minute
	callTimeout = 30 * time.Second
)

// joinEtcd adds this machine to the etcd cluster as a learner, writes its static pod and promotes it, as kubeadm has
// done since 1.31 (KEP-3614). kubeadm's own phase cannot be used, because it connects to the members' addresses from
// the host.
func (o options) joinEtcd(ctx context.Context, guest *kubeadmapi.InitConfiguration, dir string) error {
	endpoints, err := o.etcdEndpoints(ctx)
	if err != nil {
		return err
	}
	client, err := o.etcdClient(ctx, endpoints)
	if err != nil {
		return err
	}
	defer client.Close()
	name := guest.NodeRegistration.Name
	// Members use the actual addresses of their sockets for each other.
	peer := "https://" + net.JoinHostPort(o.loopback, strconv.Itoa(constants.EtcdListenPeerPort))
	id, members, err := addMember(ctx, client, name, peer)
	if err != nil {
		return err
	}
	o.say("etcd", "Added the etcd member %s as a learner to the %d that exist", name, len(members)-1)
	if err := os.MkdirAll(o.path(guest.Etcd.Local.DataDir), 0o700); err != nil {
		return err
	}
	o.say("etcd", "Creating static Pod manifest for \"etcd\"")
	pod := etcd.GetEtcdPodSpec(&guest.ClusterConfiguration, &guest.LocalAPIEndpoint, name, members)
	if err := staticpod.WriteStaticPodToDisk(constants.Etcd, dir, pod); err != nil {
		return err
	}
	o.say("etcd", "Waiting for the new etcd member to catch up before it is promoted")
	return promote(ctx, client, id)
}

// etcdEndpoints returns the client URLs that the members' static pods announce.
func (o options) etcdEndpoints(ctx context.Context) ([]string, error) {
	api, err := o.client(constants.AdminKubeConfigFileName)
	if err != nil {
		return nil, err
	}
	pods, err := api.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=etcd,tier=control-plane"})
	if err != nil {
		return nil, fmt.Errorf("find the etcd members: %w", err)
	}
	var endpoints []string
	for _, pod := range pods.Items {
		if url := pod.Annotations[constants.EtcdAdvertiseClientUrlsAnnotationKey]; url != "" {
			endpoints = append(endpoints, url)
		}
	}
	if len(endpoints) == 0 {
		return nil, errors.New("no etcd pod announces a client URL; is the first control plane machine up?")
	}
	return endpoints, nil
}

func (o options) etcdClient(ctx context.Context, endpoints []string) (*clientv3.Client, error) {
	var files [3][]byte
	for i, name := range []string{"healthcheck-client.crt", "healthcheck-client.key", "ca.crt"} {
		var err error
		if files[i], err = o.read(guestPKI + "/etcd/" + name); err != nil {
			return nil, err
		}
	}
	pair, err := tls.X509KeyPair(files[0], files[1])
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(files[2])
	return clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: endpoints, DialTimeout: 10 * time.Second,
		TLS:         &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots},
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(o.dial)},
	})
}

// addMember returns the new member's ID and all members by name. It uses a member that an earlier run added.
func addMember(ctx context.Context, client *clientv3.Client, name, peer string) (uint64, []etcdutil.Member, error) {
	var list *clientv3.MemberListResponse
	err := untilDone(ctx, func(ctx context.Context) (err error) {
		list, err = client.MemberList(ctx)
		return err
	})
	if err != nil {
		return 0, nil, fmt.Errorf("list the members: %w", err)
	}
	var id uint64
	if known := find(list.Members, peer); known != nil {
		id = known.ID
	} else {
		err := untilDone(ctx, func(ctx context.Context) error {
			added, err := client.MemberAddAsLearner(ctx, []string{peer})
			if err != nil {
				return err
			}
			id, list.Members = added.Member.ID, added.Members
			return nil
		})
		if err != nil {
			return 0, nil, fmt.Errorf("add the member %s: %w", name, err)
		}
	}
	var members []etcdutil.Member
	for _, m := range list.Members {
		member := etcdutil.Member{Name: m.Name, PeerURL: m.PeerURLs[0]}
		if m.ID == id {
			member.Name = name // the cluster does not know the name until the member starts
		}
		if member.Name == "" {
			continue // another machine that is about to join
		}
		members = append(members, member)
	}
	return id, members, nil
}

func find(members []*etcdserverpb.Member, peer string) *etcdserverpb.Member {
	for _, m := range members {
		if len(m.PeerURLs) > 0 && m.PeerURLs[0] == peer {
			return m
		}
	}
	return nil
}

// promote makes a learner a voting member as soon as it is in sync with the leader.
func promote(ctx context.Context, client *clientv3.Client, id uint64) error {
	err := untilDone(ctx, func(ctx context.Context) error {
		_, err := client.MemberPromote(ctx, id)
		if errors.Is(err, rpctypes.ErrMemberNotLearner) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("promote the member: %w; see the log of the etcd pod", err)
	}
	return nil
}

// untilDone retries until this machine's time is used up: etcd refuses a change of members while it is unhealthy or
// another change is in progress.
func untilDone(ctx context.Context, try func(context.Context) error) error {
	for left := allowance.New(etcdTimeout); ; {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := try(call)
		cancel()
		if err == nil || !left.Wait(ctx, 200*time.Millisecond) {
			return err
		}
	}
}
