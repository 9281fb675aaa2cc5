package powershell

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

var webCmdlets = []cmdlet{
	{name: "Invoke-WebRequest", parameters: "Uri:0 Method Headers Body OutFile UseBasicParsing?~ TimeoutSec~ " +
		"ContentType MaximumRedirection^ UserAgent~ PassThru? Credential UseDefaultCredentials?~ " +
		"DisableKeepAlive?~ Proxy^ InFile WebSession SessionVariable", run: invokeWeb},
	{name: "Invoke-RestMethod", parameters: "Uri:0 Method Headers Body OutFile UseBasicParsing?~ TimeoutSec~ " +
		"ContentType MaximumRedirection^ UserAgent~ PassThru? Credential UseDefaultCredentials?~ " +
		"DisableKeepAlive?~ Proxy^ InFile WebSession SessionVariable", run: invokeRest},
	{name: "Start-BitsTransfer", parameters: "Source:0 Destination%:1 Description~ DisplayName~ Priority~ " +
		"TransferType~ RetryInterval~ RetryTimeout~ Asynchronous?", run: startTransfer},
}

// ask makes a request. An answer that refuses is an error with the answer as details.
func (r *run) ask(q Request) (Answer, error) {
	a, err := r.host.Ask(r.ctx, q)
	if err != nil {
		if r.ctx.Err() != nil {
			return a, r.ctx.Err()
		}
		return a, broken("System.Net.WebException",
			"WebCmdletWebResponseException,Microsoft.PowerShell.Commands.InvokeWebRequestCommand",
			"Unable to connect to the remote server: %v", err)
	}
	if err := r.take(2 * len(a.Body)); err != nil {
		return a, err
	}
	if a.Status/100 != 2 {
		f := broken("System.Net.WebException",
			"WebCmdletWebResponseException,Microsoft.PowerShell.Commands.InvokeWebRequestCommand",
			"The remote server returned an error: (%d) %s.", a.Status, http.StatusText(a.Status))
		f.details = string(a.Body)
		return a, f
	}
	return a, nil
}

// request reads the parameters of the two cmdlets.
func (c *call) request() (Request, error) {
	for _, name := range []string{"credential", "infile", "websession", "sessionvariable"} {
		if c.has(name) {
			return Request{}, lacking("-%s of %s", name, c.cmd.name)
		}
	}
	if err := c.needInput("uri"); err != nil {
		return Request{}, err
	}
	q := Request{Method: strings.ToUpper(c.textOf("method")), URL: c.textOf("uri"), Headers: map[string]string{}}
	if q.Method == "" {
		q.Method = http.MethodGet
	}
	if !strings.Contains(q.URL, "://") {
		q.URL = "http://" + q.URL
	}
	if h, ok := c.given["headers"].(*hashtable); ok {
		for _, k := range h.keys {
			v, _ := h.get(k)
			q.Headers[text(k)] = text(v)
		}
	}
	if c.has("contenttype") {
		q.Headers["Content-Type"] = c.textOf("contenttype")
	}
	switch b := c.given["body"].(type) {
	case nil:
	case *hashtable:
		form := url.Values{}
		for _, k := range b.keys {
			v, _ := b.get(k)
			form.Set(text(k), text(v))
		}
		if q.Method == http.MethodGet {
			q.URL += "?" + form.Encode()
			break
		}
		q.Body = []byte(form.Encode())
		if q.Headers["Content-Type"] == "" {
			q.Headers["Content-Type"] = "application/x-www-form-urlencoded"
		}
	case []byte:
		q.Body = b
	default:
		q.Body = []byte(text(b))
	}
	return q, nil
}

func invokeWeb(c *call) error {
	q, err := c.request()
	if err != nil {
		return err
	}
	a, err := c.ask(q)
	if err != nil {
		return err
	}
	if c.has("outfile") {
		if err := c.writeFile(c.textOf("outfile"), a.Body, false); err != nil || !c.is("passthru") {
			return err
		}
	}
	headers := newHash()
	for k, v := range a.Headers {
		headers.set(k, v)
	}
	var content any = string(a.Body)
	if kind := a.Headers["Content-Type"]; strings.HasPrefix(kind, "application/octet-stream") {
		content = a.Body
	}
	return c.emit(system("Microsoft.PowerShell.Commands.BasicHtmlWebResponseObject",
		[]string{"StatusCode", "StatusDescription", "Content"}, "StatusCode", int64(a.Status), "StatusDescription",
		http.StatusText(a.Status), "Content", content, "Headers", headers, "RawContentLength", int64(len(a.Body))))
}

func invokeRest(c *call) error {
	q, err := c.request()
	if err != nil {
		return err
	}
	a, err := c.ask(q)
	if err != nil {
		if f := failed(err); f != nil {
			f.id = "WebCmdletWebResponseException,Microsoft.PowerShell.Commands.InvokeRestMethodCommand"
		}
		return err
	}
	if c.has("outfile") {
		return c.writeFile(c.textOf("outfile"), a.Body, false)
	}
	if strings.Contains(a.Headers["Content-Type"], "json") {
		if v, err := c.fromJSON(a.Body); err == nil {
			return each(v, c.emit)
		}
	}
	return c.emit(decode(a.Body))
}

func startTransfer(c *call) error {
	if c.is("asynchronous") {
		return lacking("-Asynchronous of Start-BitsTransfer")
	}
	to := c.textOf("destination")
	if to == "" {
		to = c.dir
	}
	for _, source := range c.textsOf("source") {
		a, err := c.ask(Request{Method: http.MethodGet, URL: source, Headers: map[string]string{}})
		if err != nil {
			return err
		}
		file := c.path(to)
		if c.m.Root.IsDir(file) {
			file = combine(file, base(source))
		}
		if err := c.writeFile(file, a.Body, false); err != nil {
			return err
		}
	}
	return nil
}

var userCmdlets = []cmdlet{
	{name: "ConvertTo-SecureString", parameters: "String:0 AsPlainText? Force?~ Key", run: toSecure},
	{name: "Get-Credential", parameters: "Credential:0 UserName Message~", run: func(*call) error {
		return broken("PSInvalidOperationException", "InvalidOperation",
			"Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.")
	}},
	{name: "Read-Host", byProperty: true, parameters: "Prompt:0 AsSecureString?", run: func(*call) error {
		return broken("PSInvalidOperationException",
			"InvalidOperation,Microsoft.PowerShell.Commands.ReadHostCommand",
			"Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.")
	}},
	{name: "Get-LocalUser", parameters: "Name%:0", run: getUser},
	{name: "New-LocalUser", parameters: "Name%:0 Password NoPassword? FullName Description^ " +
		"PasswordNeverExpires?^ AccountNeverExpires?^ UserMayNotChangePassword?^ AccountExpires^ " +
		"Disabled?", run: newUser},
}

func toSecure(c *call) error {
	if err := c.needInput("string"); err != nil {
		return err
	}
	if !c.is("asplaintext") {
		return lacking("ConvertTo-SecureString without -AsPlainText")
	}
	return c.emit(secret{c.textOf("string")})
}

func userObject(name string) *object {
	return system(kindUser, []string{"Name", "Enabled", "Description"}, "Name", name, "Enabled", true,
		"Description", "", "FullName", name, "PrincipalSource", "Local", "ObjectClass", "User")
}

func (c *call) user(name string) (*object, error) {
	if !c.m.HasUser(name) && !strings.EqualFold(name, "Administrator") {
		return nil, broken("Microsoft.PowerShell.Commands.UserNotFoundException",
			"UserNotFound,Microsoft.PowerShell.Commands."+strings.ReplaceAll(c.cmd.name, "-", "")+"Command",
			"User %s was not found.", name)
	}
	return userObject(name), nil
}

func getUser(c *call) error {
	names := append(c.textsOf("name"), inputTexts(c.input)...)
	if !c.has("name") && !c.piped {
		names = c.m.Users()
	}
	for _, n := range names {
		o, err := c.user(n)
		if err != nil {
			if err := c.fault(err); err != nil {
				return err
			}
			continue
		}
		if err := c.emit(o); err != nil {
			return err
		}
	}
	return nil
}

func newUser(c *call) error {
	name := c.textOf("name")
	if name == "" {
		return c.need("name")
	}
	if c.m.HasUser(name) {
		return c.fault(broken("Microsoft.PowerShell.Commands.UserExistsException",
			"UserExists,Microsoft.PowerShell.Commands.NewLocalUserCommand", "User %s already exists.", name))
	}
	if c.is("disabled") {
		return lacking("-Disabled of New-LocalUser")
	}
	if !c.has("password") && !c.is("nopassword") {
		return c.need("password")
	}
	if _, err := c.m.AddUser(name, c.textOf("fullname"), ""); err != nil {
		return broken("System.InvalidOperationException", "NewLocalUser", "User %s cannot be made: %v", name, err)
	}
	if err := c.setPassword(name); err != nil {
		return err
	}
	return c.emit(userObject(name))
}

func (c *call) setPassword(name string) error {
	if !c.has("password") {
		return nil
	}
	p, ok := c.given["password"].(secret)
	if !ok {
		return broken("ParameterBindingException", "CannotConvertArgumentNoMessage", "Cannot bind parameter "+
			"'Password'. Cannot convert the value of type \"%s\" to type "+
			"\"System.Security.SecureString\".", kindOf(c.given["password"]))
	}
	if err := c.m.SetPassword(name, p.text); err != nil {
		return fmt.Errorf("set a password: %w", err)
	}
	return nil
}
