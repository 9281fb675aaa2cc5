// Package agents holds the agents of guests that carry out bootstrap data, cloud-init, cloudbase-init and Ignition, to one
// contract: however a boot ends, the provider reads the end from the machine's console, with the line that decides.
// Nothing imports it.
package agents
