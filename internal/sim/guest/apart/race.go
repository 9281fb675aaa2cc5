//go:build race

package apart

// memoryFactor multiplies the bound of memory, because the race detector uses several bytes for each byte of the
// program.
const memoryFactor = 8

// cpuFactor multiplies the bound of processor time, because the race detector needs several times as much.
const cpuFactor = 3
