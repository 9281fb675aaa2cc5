// Package why stores failures as objects in a real API server, with the conditions and events that
// controllers, kubelets, runtimes and registries write, and checks the diagnosis of each: its
// cause, its object, the evidence and a command that helps. It starts no plane and no guest;
// test/e2e/faults causes failures in real ones.
package why
