package powershell

import "strings"

// parameterOf finds a parameter by its name, an unambiguous prefix of the name, or an alias.
func parameterOf(p *parameters, name, command string) (*parameter, error) {
	low := strings.ToLower(name)
	var found *parameter
	for i, one := range p.list {
		if one.name == low {
			return &p.list[i], nil
		}
		for _, alias := range one.aliases {
			if alias == low {
				return &p.list[i], nil
			}
		}
		if strings.HasPrefix(one.name, low) {
			if found != nil {
				return nil, named(command, broken("ParameterBindingException", "AmbiguousParameter",
					"Parameter cannot be processed because the parameter name '%s' is ambiguous.", name))
			}
			found = &p.list[i]
		}
	}
	return found, nil
}

func unknownParameter(command, name string) error {
	return named(command, broken("ParameterBindingException", "NamedParameterNotFound",
		"A parameter cannot be found that matches parameter name '%s'.", name))
}

func named(command string, f *failure) error {
	f.command = command
	return f
}

// give puts a value into a parameter.
func (r *run) give(f function, one parameter, value any, bound *hashtable, to *scope) error {
	v, err := r.converted(one, value)
	if err != nil {
		if e := failed(err); e != nil {
			return named(f.name, broken("ParameterBindingException", "ParameterArgumentTransformationError",
				"Cannot process argument transformation on parameter '%s'. %s", one.name, e.exception.message))
		}
		return err
	}
	if err := r.validate(f, one, v); err != nil {
		return err
	}
	bound.set(one.name, v)
	to.vars[one.name] = &cell{value: v, kind: castOf(one)}
	return nil
}

func (r *run) converted(one parameter, v any) (any, error) {
	for i := len(one.kinds) - 1; i >= 0; i-- {
		kind := one.kinds[i]
		if v == nil && kind != "string" && kind != "int" && kind != "bool" && kind != "switch" {
			continue
		}
		var err error
		if kind == "switch" {
			v = truth(v)
			continue
		}
		if v, err = r.convert(kind, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// validate applies the attributes of a parameter.
func (r *run) validate(f function, one parameter, v any) error {
	refuse := func(format string, a ...any) error {
		return named(f.name, broken("ParameterBindingValidationException", "ParameterArgumentValidationError",
			"Cannot validate argument on parameter '%s'. "+format, append([]any{one.name}, a...)...))
	}
	if one.notEmpty && (v == nil || v == "") {
		return refuse("The argument is null or empty. Provide an argument that is not null or empty, and then try the command again.")
	}
	if (v == "" || v == nil) && one.mandatory && len(one.kinds) > 0 && one.kinds[0] == "string" {
		return named(f.name, broken("ParameterBindingValidationException",
			"ParameterArgumentValidationErrorEmptyStringNotAllowed",
			"Cannot bind argument to parameter '%s' because it is an empty string.", one.name))
	}
	if len(one.values) > 0 {
		var allowed []string
		for _, n := range one.values {
			want, err := r.eval(n)
			if err != nil {
				return err
			}
			if equal(want, v, false) {
				return nil
			}
			allowed = append(allowed, text(want))
		}
		return refuse("The argument \"%s\" does not belong to the set \"%s\" specified by the ValidateSet "+
			"attribute. Supply an argument that is in the set and then try the command "+
			"again.", text(v), strings.Join(allowed, ","))
	}
	if one.pattern != "" {
		re, err := pattern(one.pattern, false)
		if err != nil {
			return err
		}
		if yes, err := re.MatchString(text(v)); err != nil || !yes {
			return refuse("The argument \"%s\" does not match the \"%s\" pattern.", text(v), one.pattern)
		}
	}
	return nil
}
