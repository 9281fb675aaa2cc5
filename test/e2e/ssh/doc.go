// Package ssh runs sessions with the installed OpenSSH client, ssh, scp and sftp, against simulated
// machines: the documented lines word by word, a jump, a tunnel to Remote Desktop, copies both ways. The
// machines are guests alone or, with -full, machines of a local plane.
//
// It has tests only.
package ssh
