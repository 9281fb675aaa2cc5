package powershell

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

func dateOf(n []int) time.Time {
	return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*1e6, time.UTC)
}

func durationOf(n []int) time.Duration {
	return time.Duration(n[0])*24*time.Hour + time.Duration(n[1])*time.Hour + time.Duration(n[2])*time.Minute +
		time.Duration(n[3])*time.Second
}

// objectCall runs a method of an object.
func (r *run) objectCall(o *object, name, low string, args []any) (any, error) {
	if v, ok := o.get(name); ok {
		if s, ok := v.(scripted); ok && s.kind == "ScriptMethod" {
			items, err := r.gather(func(out sink) error { return r.withThis(o, s.get, args, out) })
			return single(items), err
		}
		if f, isBlock := v.(function); isBlock && !o.closed {
			return nil, methodMissing(kindOf(o), name)
		} else if isBlock {
			return r.functionCall(f, "Invoke", "invoke", args)
		}
	}
	switch o.kind {
	case kindCmdlet:
		return r.cmdletCall(o, name, low, args)
	case kindHash:
		return hashCall(r, o, name, low, args)
	case "System.DateTimeOffset":
		return r.offsetCall(o, name, low, args)
	case "System.Version":
		switch low {
		case "compareto":
			if _, isText := firstOf(args).(string); isText {
				return nil, thrown("ArgumentException", "Object must be of type Version.")
			}
			v, err := r.convert("version", firstOf(args))
			return int64(orderVersions(text(o), text(v))), err
		case "equals":
			return text(o) == at(args, 0), nil
		}
	case kindGroups:
		if v, ok := o.get("next"); ok && low == "nextmatch" {
			at, _ := v.(nextMatch)
			m, err := at.re.FindNextMatch(at.m)
			if err != nil {
				return nil, searchLimit(err)
			}
			return matchObject(at.re, m), r.step()
		}
	case kindConsole:
		to := r.session.Stdout
		if v, _ := o.get("error"); truth(v) {
			to = r.session.Stderr
		}
		if low == "writeline" || low == "write" {
			return consoleWrite(to, map[bool]string{true: "\r\n"}[low == "writeline"])(r, args)
		}
		if low == "flush" {
			return void{}, nil
		}
	case "System.Management.Automation.CommandInvocationIntrinsics":
		if low == "expandstring" {
			b, err := parse("@\"\n" + at(args, 0) + "\n\"@")
			if err != nil {
				return nil, r.unparsed(err, "")
			}
			return r.eval(subexpression{body: b.end})
		}
	case "System.Management.Automation.PathIntrinsics":
		if low == "getunresolvedproviderpathfrompspath" {
			return r.path(at(args, 0)), nil
		}
	case kindTextInfo:
		return r.textInfoCall(o, name, low, args)
	case kindService:
		return r.serviceCall(o, name, low, args)
	case kindEncoding:
		return r.encodingCall(o, name, low, args)
	case "System.Management.Automation.ErrorCategoryInfo":
		if low == "getmessage" {
			return r.text(o)
		}
	case kindBuilder, kindWriter:
		writes := low == "write" || low == "writeline" || low == "flush" || low == "close" || low == "dispose"
		if writes != (o.kind == kindWriter) {
			return nil, r.noMethod(o, name)
		}
		return r.builderCall(o, name, low, args)
	case kindWatch:
		return r.watchCall(o, name, low)
	case kindReader, kindZip, kindStream:
		return r.streamCall(o, name, low)
	case kindClient:
		return r.clientCall(o, name, low, args)
	case kindFile, kindDirectory:
		return r.fileCall(o, name, low, args)
	case kindCredential:
		if low == "getnetworkcredential" {
			s, _ := o.read("Password").(secret)
			return system("System.Net.NetworkCredential", nil, "UserName", o.read("UserName"), "Password", s.text), nil
		}
	case kindIPAddress:
		if low == "getaddressbytes" {
			return o.read("bytes"), nil
		}
	case kindKey:
		if low == "getvalue" {
			if v, ok := o.get(at(args, 0)); ok {
				return v, nil
			}
			return nil, nil
		}
		if low == "close" || low == "dispose" {
			return void{}, nil
		}
	case "System.Security.Principal.WindowsPrincipal":
		if low == "isinrole" {
			return true, nil // scripts run as the system or as an administrator
		}
	case "System.Text.RegularExpressions.Regex":
		switch low {
		case "ismatch", "match", "matches", "replace", "split", "getgroupnames":
			return r.regexCall(o, low, args)
		}
	case "System.Management.Automation.PSMemberSet":
		if inner, ok := o.read("of").(*object); ok && low == "copy" {
			return &object{kind: inner.kind, fields: append([]field(nil), inner.fields...), closed: inner.closed, shown: inner.shown}, nil
		}
	case "System.Random":
		return r.randomCall(o, name, low, args)
	}
	return nil, r.noMethod(o, name)
}

// elapsed returns the elapsed time of a stopwatch.
func (r *run) elapsed(o *object) time.Duration {
	counted, _ := o.read("counted").(time.Duration)
	if started, _ := o.read("started").(time.Time); truth(o.read("IsRunning")) {
		counted += r.now().Sub(started)
	}
	return counted
}

// watchCall runs a method of a stopwatch.
func (r *run) watchCall(o *object, name, low string) (any, error) {
	counted := r.elapsed(o)
	switch low {
	case "start", "stop":
	case "reset", "restart":
		counted = 0
	default:
		return nil, r.noMethod(o, name)
	}
	o.set("counted", counted)
	o.set("started", r.now())
	o.set("IsRunning", low == "start" || low == "restart")
	return void{}, nil
}

// randomCall runs a method of System.Random. A generator with a seed is refused, because its numbers would
// have to be those of .NET.
func (r *run) randomCall(o *object, name, low string, args []any) (any, error) {
	if o.read("seed") != nil || len(args) > 2 || low != "next" && low != "nextdouble" {
		return nil, lacking("%s of System.Random with these arguments", name)
	}
	if low == "nextdouble" {
		return rand.Float64(), nil
	}
	bounds := args
	if len(args) < 2 { // without a lower bound the numbers start at 0
		bounds = append(append([]any{int64(0)}, args...), int64(math.MaxInt32))
	}
	from, err := r.number(bounds, 0)
	to, err2 := r.number(bounds, 1)
	if to < from {
		return nil, thrown("ArgumentOutOfRangeException", "'minValue' cannot be greater than maxValue.\r\nParameter name: minValue")
	}
	return int64(from) + rand.Int64N(int64(max(to-from, 1))), errors.Join(err, err2)
}

// encodingCall runs a method of an encoding.
func (r *run) encodingCall(o *object, name, low string, args []any) (any, error) {
	encoding := text(o.read("name"))
	switch low {
	case "getbytes":
		data := encode(at(args, 0), encoding, false)
		return data, r.take(len(data))
	case "getstring":
		b, err := bytesOf(firstOf(args))
		if err != nil {
			return nil, err
		}
		if len(args) == 3 {
			from, err := r.number(args, 1)
			n, err2 := r.number(args, 2)
			if err := errors.Join(err, err2); err != nil {
				return nil, err
			}
			if from < 0 || n < 0 || from+n > len(b) {
				return nil, thrown("ArgumentOutOfRangeException",
					"Index and count must refer to a location within the buffer.\r\nParameter name: bytes")
			}
			b = b[from : from+n]
		}
		if err := r.take(2 * len(b)); err != nil {
			return nil, err
		}
		return decodeAs(b, encoding), nil
	case "getpreamble":
		return encode("", encoding, true), nil
	case "getbytecount":
		return int64(len(encode(at(args, 0), encoding, false))), nil
	}
	return nil, r.noMethod(o, name)
}

// builderCall runs a method of a StringBuilder or StreamWriter.
func (r *run) builderCall(o *object, name, low string, args []any) (any, error) {
	v, _ := o.get("text")
	s := text(v)
	switch low {
	case "append":
		s += at(args, 0)
	case "appendline":
		s += at(args, 0) + "\r\n"
	case "appendformat":
		one, err := r.composite(at(args, 0), args[min(1, len(args)):])
		if err != nil {
			return nil, err
		}
		s += text(one)
	case "clear":
		s = ""
	case "replace":
		if len(args) != 2 || at(args, 0) == "" {
			return nil, lacking("Replace of a StringBuilder with these arguments")
		}
		s = strings.ReplaceAll(s, at(args, 0), at(args, 1))
	case "insert", "remove":
		if low == "remove" && len(args) < 2 {
			return nil, noOverload(name, len(args))
		}
		v, err := r.cutText(s, low, args)
		if err != nil {
			return nil, err
		}
		s = text(v)
	case "write", "writeline": // of a StreamWriter
		if s += at(args, 0); low == "writeline" {
			s += "\r\n"
		}
		o.set("text", s)
		return void{}, r.take(len(s))
	case "flush", "close", "dispose":
		to, _ := o.get("to")
		return void{}, r.fileError(r.m.Root.WriteFile(text(to), []byte(s), 0o644), text(to))
	default:
		return nil, r.noMethod(o, name)
	}
	o.set("text", s)
	return o, r.take(len(s))
}

// streamCall runs a method of a stream or StreamReader.
func (r *run) streamCall(o *object, name, low string) (any, error) {
	data, _ := o.read("bytes").([]byte)
	switch {
	case low == "close" || low == "dispose":
		return void{}, nil
	case low == "readtoend" && o.kind == kindReader:
		o.set("bytes", []byte(nil))
		return decode(data), r.take(len(data))
	case low == "readline" && o.kind == kindReader:
		if len(data) == 0 {
			return nil, nil
		}
		line, rest, _ := strings.Cut(string(data), "\n")
		o.set("bytes", []byte(rest))
		return strings.TrimSuffix(line, "\r"), r.take(len(data))
	case low == "peek" && o.kind == kindReader:
		if next := []rune(decode(data)); len(next) > 0 {
			return int64(next[0]), r.take(len(data))
		}
		return int64(-1), nil
	case low == "toarray" && o.kind == kindStream:
		return data, nil
	}
	return nil, r.noMethod(o, name)
}

// clientCall runs a method of a WebClient.
func (r *run) clientCall(o *object, name, low string, args []any) (any, error) {
	headers := map[string]string{}
	if v, _ := o.get("Headers"); v != nil {
		if h, ok := v.(*hashtable); ok {
			for k, value := range h.all() {
				headers[text(k)] = text(value)
			}
		}
	}
	switch low {
	case "downloadstring", "downloadfile", "downloaddata":
		a, err := r.sendRequest(Request{Method: "GET", URL: at(args, 0), Headers: headers})
		if err != nil {
			return nil, err
		}
		switch low {
		case "downloadfile":
			return void{}, r.fileError(r.m.Root.WriteFile(r.processPath(args, 1), a.Body, 0o644), at(args, 1))
		case "downloaddata":
			return a.Body, nil
		}
		return decode(a.Body), nil
	case "dispose":
		return void{}, nil
	}
	return nil, r.noMethod(o, name)
}
