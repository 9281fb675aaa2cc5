//go:build race

package userdata

// memoryFactor multiplies the bound of memory: the race detector keeps several bytes
// for each byte of the program.
const memoryFactor = 8
