package engine

import (
	"slices"
	"strings"
	"unicode"

	"casement.dev/casement/azuresim/internal/value"
)

// Azure's limits of tags: their number, and the number of characters of a name and of a value.
// Source:
// https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations.
const (
	mostTags     = 50
	mostTagName  = 512
	mostTagValue = 256
)

// CheckTags returns the resource manager's error for tags that it refuses, or nil. Names that begin
// with hidden- or link: belong to the portal and may contain any character. Values that are no text
// have another error. Source: the messages that Az.Migrate of
// https://github.com/Azure/azure-powershell repeats.
func CheckTags(tags value.Object) *Error {
	if len(tags) > mostTags {
		return BadRequest("InvalidTags", "Too many tags specified. Requested tag count - '%d'. Maximum number of tags allowed - '%d'.",
			len(tags), mostTags)
	}
	var odd []string
	for _, name := range value.SortedKeys(tags) {
		text, _ := tags[name].(string)
		switch {
		case name == "":
			return BadRequest("InvalidTagName", "The name of a tag is empty.")
		case len([]rune(name)) > mostTagName:
			return BadRequest("InvalidTagName", "Tag key too large. Following tag name '%s' exceeded the maximum length. Maximum allowed "+
				"length for tag name - '%d' characters.", name, mostTagName)
		case len([]rune(text)) > mostTagValue:
			return BadRequest("InvalidTagValueLength", "Tag value too large. Following tag value '%s' exceeded the maximum length. "+
				"Maximum allowed length for tag value - '%d' characters.", text, mostTagValue)
		case slices.ContainsFunc([]string{"hidden-", "link:"}, func(of string) bool { return strings.HasPrefix(value.Lower(name), of) }):
		case strings.ContainsAny(name, `<>%&\?/`) || strings.ContainsFunc(name, unicode.IsControl):
			odd = append(odd, name)
		}
	}
	if odd != nil {
		return BadRequest("InvalidTagNameCharacters", `The tag names '%s' have reserved characters '<,>,%%,&,\,?,/' or control characters.`,
			strings.Join(odd, ", "))
	}
	return nil
}
