package arm

import (
	"regexp"
	"strings"
)

// The rules for names of new resources.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules;
// the texts are those that the services answer with.
var (
	networkName = regexp.MustCompile(`^[\p{L}\p{N}_]([\p{L}\p{N}_.-]{0,78}[\p{L}\p{N}_])?$`)
	computeName = regexp.MustCompile(`^[\p{L}\p{N}]([\p{L}\p{N}_.-]{0,78}[\p{L}\p{N}_])?$`)
	groupOdd    = regexp.MustCompile(`[^\p{L}\p{N}_.()-]`)
)

// checkName refuses the name of a new resource that the service would refuse. Zones
// and records have rules of their own, which are not held here, and the other
// services' names neither.
func checkName(id resourceID) *Error {
	name := id.name()
	switch lower(id.Namespace) {
	case "microsoft.network":
		if !strings.HasPrefix(lower(id.fullType()), lower(typeZone)) && !networkName.MatchString(name) {
			return badRequest("InvalidResourceName", "Resource name %s is invalid. The name can be up to 80 characters long. It must begin with a word character, and it must end with a word character or with '_'. The name may contain word characters or '.', '-', '_'.", name)
		}
	case "microsoft.compute":
		of := lower(id.Types[0]) // scale sets and galleries have rules of their own
		if len(id.Types) == 1 && of != "virtualmachinescalesets" && of != "galleries" && !computeName.MatchString(name) {
			return errName("name")
		}
	}
	return nil
}

// errName is Compute's refusal of a name.
func errName(entity string) *Error {
	return invalid(entity, "The entity name '%s' is invalid according to its validation rule: ^[^_\\W][\\w-._]{0,79}(?<![-.])$.", entity)
}

// checkGroupName refuses a new resource group's name.
func checkGroupName(name string) *Error {
	switch odd := groupOdd.FindString(name); {
	case odd != "":
		return badRequest("InvalidResourceGroup", "The provided resource group name '%s' has these invalid characters: '%s'. The name can only be a letter, digit, '-', '.', '(', ')' or '_'.", name, odd)
	case len(name) > 90:
		return badRequest("InvalidResourceGroup", "The provided resource group name '%s' has a length of '%d' which exceeds the maximum length of '90'.", name, len(name))
	case strings.HasSuffix(name, "."):
		return badRequest("InvalidResourceGroup", "The provided resource group name '%s' ends with '.', which is not allowed.", name)
	}
	return nil
}
