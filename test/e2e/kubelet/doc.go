// Package kubelet compares the simulated kubelet with the real one: Kubernetes' hollow node runs
// beside a simulated node on one API server with the same pods, and the objects in the API are
// compared. Only make e2e-kubelet runs it, since it links the kubelet into a separate program.
package kubelet
