// Package kubelet has the real kubelet judge the simulated one: Kubernetes' hollow node beside a
// simulated node on one API server, the same pods on both, and what the API shows of each compared.
// Only make e2e-kubelet runs it, since it links the kubelet into a program of its own.
package kubelet
