// Package stranger tests a local plane as another user of the computer: it sends requests to every
// listener, presents forged tokens, and tries to open files and sockets.
//
// It contains only tests.
package stranger
