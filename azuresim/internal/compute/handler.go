package compute

import (
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// handlers are the types of extensions of publishers whose types are all known, by the publisher in lower case. There are many other
// publishers, and what they have is not known here: each of theirs is taken. Source:
// https://learn.microsoft.com/azure/virtual-machines/extensions/overview and the pages of the extensions below it; CAPZ's
// api/v1beta1/types.go for those of its images.
var handlers = map[string][]string{
	"microsoft.compute":                 {"BGInfo", "CustomScriptExtension", "JsonADDomainExtension", "VMAccessAgent"},
	"microsoft.azure.extensions":        {"CustomScript", "DockerExtension"},
	"microsoft.azure.containerupstream": {"CAPZ.Linux.Bootstrapping", "CAPZ.Windows.Bootstrapping"},
	"microsoft.managedservices":         {"ApplicationHealthLinux", "ApplicationHealthWindows"},
}

// checkHandler refuses an extension that its publisher does not have. Source: https://github.com/Azure/azure-powershell/issues/20094.
func checkHandler(p value.Object) *engine.Error {
	publisher, kind := value.Str(p, "publisher"), value.Str(p, "type")
	types, known := handlers[strings.ToLower(publisher)]
	if !known || slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(t, kind) }) {
		return nil
	}
	return engine.Refuse(http.StatusNotFound, "ArtifactNotFound", "The VM extension with publisher '%s' and type '%s' could not be found.",
		publisher, kind)
}

// checkHandlers does so for the extensions of a scale set's model.
func checkHandlers(profile value.Object) *engine.Error {
	for _, x := range value.Items(profile, "extensionProfile", "extensions") {
		if e := checkHandler(value.Props(x)); e != nil {
			return e
		}
	}
	return nil
}
