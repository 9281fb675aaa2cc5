//go:build !race

package apart

// memoryFactor is 1 without the race detector.
const memoryFactor = 1

// cpuFactor is 1 without the race detector.
const cpuFactor = 1
