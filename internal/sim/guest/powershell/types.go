package powershell

import (
	"strconv"
	"strings"
)

// typeList are the full names of types that scripts name and that typeNames has no short name for.
const typeList = `
System.Collections.Generic.List` + "`1 System.Collections.Generic.Dictionary`2 System.Collections.Generic.Queue`1 " +
	"System.Collections.Generic.Stack`1 System.Collections.Generic.HashSet`1 System.Collections.Generic.KeyValuePair`2" + `
System.Management.Automation.ScriptBlock System.Management.Automation.ErrorRecord
System.Management.Automation.WarningRecord System.Management.Automation.VerboseRecord
System.Management.Automation.DebugRecord System.Management.Automation.InformationRecord
System.Management.Automation.HostInformationMessage System.Management.Automation.InvocationInfo
System.Management.Automation.PSModuleInfo System.Management.Automation.PSVariable
System.Management.Automation.PSReference System.Management.Automation.ErrorCategoryInfo
System.Management.Automation.ErrorDetails System.Management.Automation.PathInfo
System.Management.Automation.PSNoteProperty System.Management.Automation.PSCmdlet
System.Management.Automation.CommandInfo System.Management.Automation.AliasInfo
System.Management.Automation.SwitchParameter System.Collections.Specialized.OrderedDictionary
System.Collections.DictionaryEntry System.Collections.Queue System.Collections.Stack
System.Collections.Generic.Queue System.Collections.Generic.Stack System.Collections.Generic.HashSet
System.Collections.Generic.List System.Collections.Generic.Dictionary
System.Text.RegularExpressions.Match System.Text.RegularExpressions.Group
System.Text.RegularExpressions.MatchCollection System.Text.RegularExpressions.GroupCollection
System.Net.HttpStatusCode System.OperatingSystem System.Random System.Net.IPHostEntry System.RuntimeType
System.Exception System.SystemException System.ApplicationException System.ArgumentException
System.ArgumentNullException System.ArgumentOutOfRangeException System.InvalidOperationException
System.InvalidCastException System.NotSupportedException System.NotImplementedException
System.NullReferenceException System.FormatException System.OverflowException System.DivideByZeroException
System.IndexOutOfRangeException System.TimeoutException System.UnauthorizedAccessException
System.OperationCanceledException System.ArithmeticException System.RankException
System.UriFormatException System.AggregateException System.Security.SecurityException
System.IO.IOException System.IO.FileNotFoundException System.IO.DirectoryNotFoundException
System.IO.PathTooLongException System.IO.DriveNotFoundException System.IO.InvalidDataException
System.IO.EndOfStreamException System.Net.WebException System.Net.Sockets.SocketException
System.Net.Http.HttpRequestException System.Collections.Generic.KeyNotFoundException
System.ComponentModel.Win32Exception System.ServiceProcess.TimeoutException
System.Management.Automation.RuntimeException System.Management.Automation.ItemNotFoundException
System.Management.Automation.CommandNotFoundException System.Management.Automation.ParameterBindingException
System.Management.Automation.ParameterBindingValidationException
System.Management.Automation.ParameterBindingArgumentTransformationException
System.Management.Automation.MethodInvocationException System.Management.Automation.MethodException
System.Management.Automation.PropertyNotFoundException System.Management.Automation.SetValueInvocationException
System.Management.Automation.ActionPreferenceStopException System.Management.Automation.DriveNotFoundException
System.Management.Automation.SessionStateException System.Management.Automation.ProviderNotFoundException
System.Management.Automation.SessionStateUnauthorizedAccessException System.Management.Automation.PSArgumentException
System.Management.Automation.SessionStateOverflowException System.Management.Automation.RemoteException
System.Management.Automation.PSInvalidOperationException System.Management.Automation.PSInvalidCastException
System.Management.Automation.PSArgumentNullException System.Management.Automation.PSArgumentOutOfRangeException
System.Management.Automation.PSNotSupportedException System.Management.Automation.ParseException
System.Management.Automation.WildcardPatternException System.Management.Automation.ValidationMetadataException
System.Management.Automation.ScriptRequiresException System.Management.Automation.PSSecurityException
System.Management.Automation.ParentContainsErrorRecordException System.Management.Automation.GetValueException
System.Management.Automation.ExtendedTypeSystemException System.Management.Automation.PipelineStoppedException
Microsoft.PowerShell.Commands.WriteErrorException Microsoft.PowerShell.Commands.ServiceCommandException
Microsoft.PowerShell.Commands.ProcessCommandException Microsoft.PowerShell.Commands.HttpResponseException
Microsoft.PowerShell.Commands.GroupInfo Microsoft.PowerShell.Commands.MatchInfo
Microsoft.PowerShell.Commands.GenericMeasureInfo Microsoft.PowerShell.Commands.TextMeasureInfo`

// properNames are full names by their keys.
var properNames = func() map[string]string {
	out := map[string]string{}
	for full := range strings.FieldsSeq(typeList) {
		out[typeKey(full)] = full
	}
	for _, full := range typeNames {
		out[typeKey(full)] = full
	}
	return out
}()

// bases are the classes of exceptions below others, by keys; all others are below Exception alone
// or, in System.Management.Automation, below RuntimeException.
var bases = map[string]string{
	"io.filenotfoundexception": "io.ioexception", "io.directorynotfoundexception": "io.ioexception",
	"io.pathtoolongexception": "io.ioexception", "io.drivenotfoundexception": "io.ioexception",
	"io.endofstreamexception": "io.ioexception", "argumentnullexception": "argumentexception",
	"argumentoutofrangeexception": "argumentexception", "dividebyzeroexception": "arithmeticexception",
	"overflowexception": "arithmeticexception", "net.webexception": "invalidoperationexception",
	"uriformatexception":                                                    "formatexception",
	"net.sockets.socketexception":                                           "componentmodel.win32exception",
	"management.automation.itemnotfoundexception":                           "management.automation.sessionstateexception",
	"management.automation.drivenotfoundexception":                          "management.automation.sessionstateexception",
	"management.automation.providernotfoundexception":                       "management.automation.sessionstateexception",
	"management.automation.methodinvocationexception":                       "management.automation.methodexception",
	"management.automation.methodexception":                                 "management.automation.extendedtypesystemexception",
	"management.automation.setvalueinvocationexception":                     "management.automation.extendedtypesystemexception",
	"management.automation.psargumentexception":                             "argumentexception",
	"management.automation.psargumentnullexception":                         "argumentnullexception",
	"management.automation.psargumentoutofrangeexception":                   "argumentoutofrangeexception",
	"management.automation.psinvalidoperationexception":                     "invalidoperationexception",
	"management.automation.psnotsupportedexception":                         "notsupportedexception",
	"management.automation.psinvalidcastexception":                          "invalidcastexception",
	"management.automation.validationmetadataexception":                     "management.automation.metadataexception",
	"management.automation.metadataexception":                               "management.automation.runtimeexception",
	"microsoft.powershell.commands.writeerrorexception":                     "systemexception",
	"microsoft.powershell.commands.servicecommandexception":                 "systemexception",
	"microsoft.powershell.commands.processcommandexception":                 "systemexception",
	"management.automation.parameterbindingvalidationexception":             "management.automation.parameterbindingexception",
	"management.automation.parameterbindingargumenttransformationexception": "management.automation.parameterbindingexception",
	"management.automation.sessionstateunauthorizedaccessexception":         "management.automation.sessionstateexception",
	"management.automation.sessionstateoverflowexception":                   "management.automation.sessionstateexception",
}

// baseOf returns the class above one of an exception.
func baseOf(key string) string {
	switch base, ok := bases[key]; {
	case ok:
		return base
	case key == "exception" || key == "":
		return ""
	case key == "systemexception":
		return "exception"
	case strings.HasPrefix(key, "management.automation.") && key != "management.automation.runtimeexception":
		return "management.automation.runtimeexception"
	}
	return "systemexception"
}

// enumerationTypes are enumerations with their members and, behind =, their values.
var enumerationTypes = map[string]string{
	"dayofweek":                      "Sunday Monday Tuesday Wednesday Thursday Friday Saturday",
	"datetimekind":                   "Unspecified Utc Local",
	"net.securityprotocoltype":       "SystemDefault Ssl3=48 Tls=192 Tls11=768 Tls12=3072 Tls13=12288",
	"io.compression.compressionmode": "Decompress Compress",
	"environmentvariabletarget":      "Process User Machine",
	"stringcomparison": "CurrentCulture CurrentCultureIgnoreCase InvariantCulture InvariantCultureIgnoreCase Ordinal " +
		"OrdinalIgnoreCase",
	"stringsplitoptions": "None RemoveEmptyEntries",
	"text.regularexpressions.regexoptions": "None IgnoreCase Multiline ExplicitCapture=4 Compiled=8 Singleline=16 " +
		"IgnorePatternWhitespace=32 RightToLeft=64 ECMAScript=256 CultureInvariant=512",
	"io.filemode": "CreateNew=1 Create=2 Open=3 OpenOrCreate=4 Truncate=5 Append=6", "io.searchoption": "TopDirectoryOnly AllDirectories",
	"net.sockets.addressfamily": "InterNetwork=2 InterNetworkV6=23", "urihostnametype": "Unknown Basic Dns IPv4 IPv6",
	"io.fileaccess": "Read=1 Write=2 ReadWrite=3", "io.fileshare": "None Read Write ReadWrite Delete",
	"io.fileattributes": "ReadOnly=1 Hidden=2 System=4 Directory=16 Archive=32 Device=64 Normal=128 Temporary=256 " +
		"ReparsePoint=1024 Compressed=2048",
	"management.automation.actionpreference": "SilentlyContinue Stop Continue Inquire Ignore Suspend",
	"serviceprocess.servicecontrollerstatus": "Stopped=1 StartPending=2 StopPending=3 Running=4 ContinuePending=5 PausePending=6 Paused=7",
	"serviceprocess.servicestartmode":        "Boot System Automatic Manual Disabled",
	"consolecolor": "Black DarkBlue DarkGreen DarkCyan DarkRed DarkMagenta DarkYellow Gray DarkGray Blue Green Cyan Red " +
		"Magenta Yellow White",
	"base64formattingoptions":           "None InsertLineBreaks",
	"microsoft.win32.registryvaluekind": "Unknown String ExpandString Binary DWord MultiString=7 QWord=11",
	"midpointrounding":                  "ToEven AwayFromZero",
	"management.automation.errorcategory": "NotSpecified OpenError CloseError DeviceError DeadlockDetected InvalidArgument " +
		"InvalidData InvalidOperation InvalidResult InvalidType MetadataError NotImplemented NotInstalled ObjectNotFound " +
		"OperationStopped OperationTimeout SyntaxError ParserError PermissionDenied ResourceBusy ResourceExists " +
		"ResourceUnavailable ReadError WriteError FromStdErr SecurityError ProtocolError ConnectionError " +
		"AuthenticationError LimitsExceeded QuotaExceeded NotEnabled",
	"environment+specialfolder": "Desktop Programs=2 Personal=5 UserProfile=40 ProgramFiles=38 System=37 Windows=36 " +
		"CommonApplicationData=35 ApplicationData=26 LocalApplicationData=28",
}

// properEnumerations are the full names of enumerations whose key is not enough to write them.
var properEnumerations = map[string]string{
	"dayofweek": "System.DayOfWeek", "datetimekind": "System.DateTimeKind", "stringcomparison": "System.StringComparison",
	"consolecolor": "System.ConsoleColor", "management.automation.errorcategory": "System.Management.Automation.ErrorCategory",
	"management.automation.actionpreference": "System.Management.Automation.ActionPreference",
	"io.fileattributes":                      "System.IO.FileAttributes", "net.securityprotocoltype": "System.Net.SecurityProtocolType",
	"stringsplitoptions":        "System.StringSplitOptions",
	"net.sockets.addressfamily": "System.Net.Sockets.AddressFamily", "urihostnametype": "System.UriHostNameType",
	"serviceprocess.servicecontrollerstatus": "System.ServiceProcess.ServiceControllerStatus",
}

// enumeration returns the members of an enumeration.
func enumeration(key string) ([]enumMember, bool) {
	words, ok := enumerationTypes[key]
	if !ok {
		return nil, false
	}
	var out []enumMember
	next := int64(0)
	for word := range strings.FieldsSeq(words) {
		name, value, given := strings.Cut(word, "=")
		if given {
			next, _ = strconv.ParseInt(value, 10, 64)
		}
		out = append(out, enumMember{typeName(key), name, next})
		next++
	}
	return out, true
}

// toEnumeration converts a name, several with commas, or a number.
func toEnumeration(key string, v any) (any, error) {
	members, _ := enumeration(key)
	if m, ok := v.(enumMember); ok {
		if typeKey(m.kind) == key {
			return m, nil
		}
		v = m.n
	}
	if n, _, ok := wholeOf(v); ok {
		return enumerationOf(key, n), nil
	}
	sum, found := int64(0), 0
	words := strings.Split(text(v), ",")
	for _, word := range words {
		for _, m := range members {
			if strings.EqualFold(m.name, strings.TrimSpace(word)) {
				sum |= m.n
				found++
				break
			}
		}
	}
	if found != len(words) {
		names := make([]string, len(members))
		for i, m := range members {
			names[i] = m.name
		}
		return nil, uncast("SubstringDisambiguationEnumParseThrewAnException", "Cannot convert value \"%s\" to type "+
			"\"%s\". Error: \"Unable to match the identifier name %s to a valid enumerator name. Specify one of the "+
			"following enumerator names and try again:\n%s\"", text(v), typeName(key), text(v), strings.Join(names, ", "))
	}
	return enumerationOf(key, sum), nil
}

// enumerationOf returns the member of a number, or the flags that it is made of.
func enumerationOf(key string, n int64) enumMember {
	members, _ := enumeration(key)
	rest, names := n, []string{}
	for _, m := range members {
		if m.n == n {
			return m
		}
		if m.n != 0 && rest&m.n == m.n {
			rest &^= m.n
			names = append(names, m.name)
		}
	}
	if rest != 0 || len(names) == 0 {
		return enumMember{typeName(key), strconv.FormatInt(n, 10), n}
	}
	return enumMember{typeName(key), strings.Join(names, ", "), n}
}
