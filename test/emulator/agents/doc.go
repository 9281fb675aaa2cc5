// Package agents checks that the guests' agents that carry out bootstrap data, cloud-init,
// cloudbase-init and Ignition, fulfil one contract: however a boot ends, the provider reads the end
// from the machine's console, with the decisive line. No package imports it.
package agents
