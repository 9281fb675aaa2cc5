package windows

import (
	"slices"
	"strings"
)

// pauseImage is the image of every sandbox.
const pauseImage = "registry.k8s.io/pause"

// publishedImages are prefixes of the repositories whose accounts are known: Microsoft's base images and
// images made from them without accounts of their own.
var publishedImages = []string{"mcr.microsoft.com/windows", "mcr.microsoft.com/dotnet/", "mcr.microsoft.com/powershell",
	pauseImage, "registry.k8s.io/e2e-test-images/"}

// HasAccount reports whether programs in an image's container can run as an account, in the form of runAsUserName. An
// unknown image may have its own accounts, so the result is true for every account. Source:
// https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security,
// https://kubernetes.io/docs/tasks/configure-pod-container/configure-runasusername.
func HasAccount(image, account string) bool {
	name := strings.ToLower(image)
	if !slices.ContainsFunc(publishedImages, func(known string) bool { return strings.HasPrefix(name, known) }) {
		return true
	}
	domain, user := splitAccount(account)
	switch domain {
	case "nt authority":
		return isServiceAccount(user) || user == "iusr"
	case "", "user manager":
		return user == "containeruser" || user == "containeradministrator" ||
			domain == "" && (!isNano(image) && isBuiltinUser(user) || isServiceAccount(user))
	}
	return false
}

// SandboxHasAccount reports whether a pod's sandbox can run as an account: since containerd 1.6 it runs as the
// runAsUserName of the whole pod. Source: https://github.com/kubernetes/kubernetes/issues/104635.
func SandboxHasAccount(account string) bool { return HasAccount(pauseImage, account) }

// ImageUser returns the default account of programs in an image. Source: the images' configurations.
func ImageUser(image string) string {
	if isNano(image) {
		return "ContainerUser"
	}
	return "ContainerAdministrator"
}

// HostHasAccount reports whether a HostProcess container can run as an account on a node that has only the groups of
// Windows: the account has to be a service account or a local group, because there is no password to log in as another
// user. Source: hcsshim internal/jobcontainers/logon.go; the groups of
// https://learn.microsoft.com/windows/security/identity-protection/access-control/local-accounts.
func HostHasAccount(account string) bool {
	domain, user := splitAccount(account)
	switch domain {
	case "nt authority":
		return isServiceAccount(user)
	case "", "builtin":
		return slices.Contains(localGroups(), user)
	}
	return false
}

// localGroups returns the local groups of a new Windows Server, in lower case.
func localGroups() []string {
	return []string{"access control assistance operators", "administrators", "backup operators", "certificate service dcom access",
		"cryptographic operators", "device owners", "distributed com users", "event log readers", "guests", "hyper-v administrators",
		"iis_iusrs", "network configuration operators", "openssh users", "performance log users", "performance monitor users",
		"power users", "print operators", "rds endpoint servers", "rds management servers", "rds remote access servers",
		"remote desktop users", "remote management users", "replicator", "storage replica administrators",
		"system managed accounts group", "users"}
}

// splitAccount splits an account into domain, which may be "", and user, in lower case.
func splitAccount(account string) (domain, user string) {
	domain, user, both := strings.Cut(strings.ToLower(account), `\`)
	if !both {
		return "", domain
	}
	return domain, user
}

// isServiceAccount reports whether a user of NT AUTHORITY is an account for services.
func isServiceAccount(user string) bool {
	switch strings.ReplaceAll(user, " ", "") {
	case "system", "localsystem", "localservice", "networkservice":
		return true
	}
	return false
}

// isBuiltinUser reports whether a new Windows Server has a user.
func isBuiltinUser(user string) bool {
	switch user {
	case "administrator", "guest", "defaultaccount", "wdagutilityaccount":
		return true
	}
	return false
}

// isNano reports whether an image is based on Nano Server, as its reference shows or as is known of the pause image.
func isNano(image string) bool {
	repository, tag := splitImage(image)
	return strings.HasPrefix(repository, pauseImage) || strings.Contains(repository+":"+tag, "nanoserver")
}
