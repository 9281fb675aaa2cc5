//go:build race

package apart

// memoryFactor multiplies the bound of memory: the race detector keeps several bytes
// for each byte of the program.
const memoryFactor = 8

// cpuFactor multiplies the bound of the processor, which the race detector uses several times.
const cpuFactor = 3
