// Package stranger holds a local plane against another user of the machine: whatever
// listens is asked, forged tokens are presented, and files and sockets are opened.
//
// It holds tests only.
package stranger
