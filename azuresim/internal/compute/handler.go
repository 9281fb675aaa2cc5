package compute

import (
	"net/http"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// handlers contains the extension types of the publishers whose types are all known, by the
// publisher in lower case. The types of the many other publishers are not known, so every type of
// theirs is accepted. Source:
// https://learn.microsoft.com/azure/virtual-machines/extensions/overview and its pages about single
// extensions; for the types of CAPZ's images CAPZ's api/v1beta1/types.go.
var handlers = map[string][]string{
	"microsoft.compute":                 {"BGInfo", "CustomScriptExtension", "JsonADDomainExtension", "VMAccessAgent"},
	"microsoft.azure.extensions":        {"CustomScript", "DockerExtension"},
	"microsoft.azure.containerupstream": {"CAPZ.Linux.Bootstrapping", "CAPZ.Windows.Bootstrapping"},
	"microsoft.managedservices":         {"ApplicationHealthLinux", "ApplicationHealthWindows"},
}

// checkHandler refuses an extension type that its publisher does not offer. Source:
// https://github.com/Azure/azure-powershell/issues/20094.
func checkHandler(p value.Object) *engine.Error {
	publisher, kind := value.Str(p, "publisher"), value.Str(p, "type")
	types, known := handlers[strings.ToLower(publisher)]
	if !known || slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(t, kind) }) {
		return nil
	}
	return engine.Refuse(http.StatusNotFound, "ArtifactNotFound", "The VM extension with publisher '%s' and type '%s' could not be found.",
		publisher, kind)
}

// checkHandlers calls checkHandler for each extension of a scale set's model.
func checkHandlers(profile value.Object) *engine.Error {
	for _, x := range value.Items(profile, "extensionProfile", "extensions") {
		if e := checkHandler(value.Props(x)); e != nil {
			return e
		}
	}
	return nil
}
