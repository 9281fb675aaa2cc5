// Package ssh runs sessions with the ordinary OpenSSH client, ssh, scp and sftp as
// they are installed, against simulated machines: the documented lines word by
// word, a jump, a tunnel to Remote Desktop, copies both ways. The machines are
// guests alone, or with -full those of a local plane.
//
// It holds tests only.
package ssh
