package sshroute

import "errors"

// Desktop returns the command line of an installed Remote Desktop client. find finds a program by name, like
// exec.LookPath; address is the tunnel's address, and file its Remote Desktop file. The client asks for the password
// itself.
func Desktop(find func(string) (string, error), address, user, file string) ([]string, error) {
	for _, program := range []string{"xfreerdp3", "xfreerdp", "sdl-freerdp3", "wlfreerdp"} {
		if path, err := find(program); err == nil {
			return []string{path, "/v:" + address, "/u:" + user, "/cert:tofu"}, nil
		}
	}
	for _, program := range []string{"mstsc.exe", "remmina", "open"} { // open is a program of macOS
		if path, err := find(program); err == nil {
			return []string{path, file}, nil
		}
	}
	return nil, errors.New("no Remote Desktop client is installed (xfreerdp, remmina, mstsc); give the address to another one")
}
