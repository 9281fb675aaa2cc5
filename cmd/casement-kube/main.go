package main

import (
	_ "go.etcd.io/etcd/client/v3"
	_ "go.etcd.io/etcd/server/v3/embed"
	_ "go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/component-base/cli"
	_ "k8s.io/kubectl/pkg/cmd"
	_ "k8s.io/kubernetes/cmd/kube-apiserver/app"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	_ "k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/addons/dns"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/addons/proxy"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/bootstraptoken/clusterinfo"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/bootstraptoken/node"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/certs"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/controlplane"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/etcd"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/kubeconfig"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/kubelet"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/markcontrolplane"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/phases/uploadconfig"
	_ "k8s.io/kubernetes/cmd/kubeadm/app/util/config"
)

func main() {}
