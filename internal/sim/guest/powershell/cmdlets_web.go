package powershell

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const requestParameters = "Uri:0 Method Headers Body OutFile UseBasicParsing?~ TimeoutSec~ ContentType MaximumRedirection^ UserAgent~ " +
	"PassThru? UseDefaultCredentials?~ DisableKeepAlive?~ Proxy^"

var webCmdlets = []cmdlet{
	{name: "Invoke-WebRequest", parameters: requestParameters, run: invokeWeb},
	{name: "Invoke-RestMethod", parameters: requestParameters, run: invokeRest},
	{name: "Start-BitsTransfer", parameters: "Source:0 Destination%:1 Description~ DisplayName~ Priority~ " +
		"TransferType~ RetryInterval~ RetryTimeout~", run: startTransfer},
}

// sendRequest sends a request. A response with a status other than 2xx is an error with the response's body as details.
func (r *run) sendRequest(q Request) (Answer, error) {
	a, err := r.host.Ask(r.ctx, q)
	if err != nil {
		if r.ctx.Err() != nil {
			return a, r.ctx.Err()
		}
		return a, webFailure("Unable to connect to the remote server: %v", err)
	}
	if err := r.take(2 * len(a.Body)); err != nil {
		return a, err
	}
	if a.Status/100 != 2 {
		f := webFailure("The remote server returned an error: (%d) %s.", a.Status, http.StatusText(a.Status))
		f.details = string(a.Body)
		return a, f
	}
	return a, nil
}

func webFailure(format string, a ...any) *failure {
	return broken("System.Net.WebException", "WebCmdletWebResponseException", format, a...)
}

// request returns the request that the parameters of Invoke-WebRequest or Invoke-RestMethod describe.
func (c *call) request() (Request, error) {
	if err := c.needInput("uri"); err != nil {
		return Request{}, err
	}
	q := Request{Method: cmp.Or(strings.ToUpper(c.textOf("method")), http.MethodGet), URL: c.textOf("uri"), Headers: map[string]string{}}
	if !strings.Contains(q.URL, "://") {
		q.URL = "http://" + q.URL
	}
	if h, ok := c.given["headers"].(*hashtable); ok {
		for k, v := range h.all() {
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
		for k, v := range b.all() {
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
	a, err := c.sendRequest(q)
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
	return c.emit(tabled("Microsoft.PowerShell.Commands.BasicHtmlWebResponseObject", 3, "StatusCode", int64(a.Status),
		"StatusDescription", http.StatusText(a.Status), "Content", content, "Headers", headers, "RawContentLength", int64(len(a.Body))))
}

func invokeRest(c *call) error {
	q, err := c.request()
	if err != nil {
		return err
	}
	a, err := c.sendRequest(q)
	if err != nil {
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
	to := cmp.Or(c.textOf("destination"), c.dir)
	for _, source := range c.textsOf("source") {
		a, err := c.sendRequest(Request{Method: http.MethodGet, URL: source, Headers: map[string]string{}})
		if err == nil {
			err = c.writeFile(c.within(to, source), a.Body, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var userCmdlets = []cmdlet{
	{name: "ConvertTo-SecureString", parameters: "String:0 AsPlainText? Force?~ Key", run: toSecure},
	{name: "Get-Credential", parameters: "Credential:0 UserName Message~", run: unanswered},
	{name: "Read-Host", byProperty: true, parameters: "Prompt:0 AsSecureString?", run: unanswered},
	{name: "Get-LocalUser", parameters: "Name%:0", run: getUser},
	{name: "New-LocalUser", parameters: "Name%:0 Password NoPassword? FullName Description^ " +
		"PasswordNeverExpires?^ AccountNeverExpires?^ UserMayNotChangePassword?^ AccountExpires^", run: newUser},
}

// unanswered returns the error of a question on the console, which a script cannot answer.
func unanswered(*call) error {
	return broken("PSInvalidOperationException", "InvalidOperation",
		"Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.")
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
	return tabled(kindUser, 3, "Name", name, "Enabled", true, "Description", "", "FullName", name, "PrincipalSource", "Local",
		"ObjectClass", "User")
}

func getUser(c *call) error {
	names := append(c.textsOf("name"), inputTexts(c.input)...)
	if !c.has("name") && !c.piped {
		names = c.m.Users()
	}
	return every(c, names, func(name string) error {
		if !c.m.HasUser(name) && !strings.EqualFold(name, "Administrator") {
			return broken("Microsoft.PowerShell.Commands.UserNotFoundException", "UserNotFound", "User %s was not found.", name)
		}
		return c.emit(userObject(name))
	})
}

func newUser(c *call) error {
	name := c.textOf("name")
	switch {
	case name == "":
		return c.need("name")
	case c.m.HasUser(name):
		return c.fault(broken("Microsoft.PowerShell.Commands.UserExistsException", "UserExists", "User %s already exists.", name))
	case !c.is("nopassword"):
		if err := c.need("password"); err != nil {
			return err
		}
	}
	p, ok := c.given["password"].(secret)
	if c.has("password") && !ok {
		return unbindable("Password", "Cannot convert the value of type \"%s\" to type \"System.Security.SecureString\".",
			kindOf(c.given["password"]))
	}
	if _, err := c.m.AddUser(name, c.textOf("fullname"), ""); err != nil {
		return broken("System.InvalidOperationException", "NewLocalUser", "User %s cannot be made: %v", name, err)
	}
	if ok {
		if err := c.m.SetPassword(name, p.text); err != nil {
			return fmt.Errorf("set a password: %w", err)
		}
	}
	return c.emit(userObject(name))
}
