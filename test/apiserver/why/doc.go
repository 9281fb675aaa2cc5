// Package why creates failures as objects of a real API server, with the conditions and
// events that controllers, kubelets, runtimes and registries write, and judges what the
// diagnosis calls each: its cause, where it is, the evidence and a command that helps.
// It starts no plane and no guest; test/e2e/faults brings about failures of those.
package why
