// Package ssh runs sessions of the installed OpenSSH clients, ssh, scp and sftp, with simulated
// machines: the documented commands unchanged, a jump host, a tunnel to Remote Desktop, copies in
// both directions. The machines are single guests or, with -full, machines of a local plane.
//
// It contains only tests.
package ssh
