package powershell

// node is a statement or an expression. at returns its byte offset in the script.
type node interface{ at() int }

// position is the byte offset of a node in the script.
type position int

func (p position) at() int { return int(p) }

// block is the body of a script, a function or a script block.
type block struct {
	parameters *parameters
	// begin, process and end are the named blocks; statements outside of them are in end.
	begin, process, end []node
	traps               []trapStatement
	// source is the text of the whole script, in which the positions of nodes count.
	source string
	// streams is set for script blocks with a process block.
	streams bool
}

// parameters are the parameters of a function or script block, with the properties of [CmdletBinding()].
type parameters struct {
	list []parameter
	// binding is set for advanced functions, which refuse unknown arguments.
	binding bool
	// defaultSet is DefaultParameterSetName.
	defaultSet string
	// should is SupportsShouldProcess, unplaced is PositionalBinding=$false.
	should, unplaced bool
	// impact is the level of ConfirmImpact.
	impact int
}

// parameter is a parameter of a function or script block.
type parameter struct {
	// name is in lower case; shown is in the case of the script.
	name, shown string
	kinds       []string
	initial     node
	// sets has an entry for each [Parameter()]. An entry without a name applies to all sets.
	sets       []parameterSet
	aliases    []string
	validators []validator
	// null, emptyText and emptyList are set by AllowNull, AllowEmptyString and AllowEmptyCollection.
	null, emptyText, emptyList bool
}

// parameterSet is the content of a [Parameter()]: the properties of its parameter in one set.
type parameterSet struct {
	name                string
	mandatory, pipeline bool
	// property is set for parameters with ValueFromPipelineByPropertyName.
	property, remains bool
	position          int
}

// validator is a [Validate...()] attribute.
type validator struct {
	name string
	args []node
}

type (
	pipeline struct {
		position
		stages []node
	}
	command struct {
		position
		name      node
		operator  byte // & or ., or 0 for neither
		args      []argument
		redirects []redirect
	}
	// argument is an argument of a command: a parameter's name, a value, or both.
	argument struct {
		position
		parameter string
		value     node
		splat     string
		// joined is set for the form -Name:value.
		joined bool
		// text is the parameter in the script's own spelling.
		text string
	}
	redirect struct {
		stream byte // 1 to 6, or *
		adding bool
		merge  bool
		target node
	}
	// redirected is an expression with redirections.
	redirected struct {
		position
		value     node
		redirects []redirect
	}

	assignment struct {
		position
		target   node
		operator string
		value    node
	}
	conditional struct {
		position
		conditions []node
		bodies     [][]node
		otherwise  []node
	}
	loop struct {
		position
		label           string
		begin, next     node
		condition       node
		body            []node
		first, negative bool // first: do; negative: until
	}
	foreachLoop struct {
		position
		label string
		name  string
		list  node
		body  []node
	}
	switchStatement struct {
		position
		label    string
		mode     string
		exact    bool // -CaseSensitive
		file     bool
		value    node
		patterns []node
		bodies   [][]node
		fallback []node
	}
	functionStatement struct {
		position
		// name is in the script's spelling, with its scope, such as global:.
		name string
		body *block
		text string
		// filter is set for a function that the keyword filter declares.
		filter bool
	}
	tryStatement struct {
		position
		body    []node
		catches []catchClause
		finally []node
	}
	catchClause struct {
		kinds []string
		body  []node
	}
	trapStatement struct {
		kind string
		body []node
	}
	// jump is break, continue, return, exit or throw.
	jump struct {
		position
		word  string
		label string
		value node
	}
)

type (
	variable struct {
		position
		// name is in lower case; shown is in the script's spelling.
		name, shown string
	}
	constant struct {
		position
		value any
		// text is the word in the script's spelling, which a native program gets as its argument.
		text string
	}
	// interpolated is a text that contains variables or subexpressions.
	interpolated struct {
		position
		parts []node
		// bare is set for words without quotes.
		bare bool
	}
	hashLiteral struct {
		position
		keys, values []node
	}
	arrayLiteral struct {
		position
		items []node
	}
	// subexpression is $( ), or @( ) if list is set.
	subexpression struct {
		position
		body []node
		list bool
	}
	parenthesis struct {
		position
		body node
	}
	scriptBlock struct {
		position
		body *block
		text string
	}
	typeLiteral struct {
		position
		name string
	}
	member struct {
		position
		of     node
		name   node
		static bool
	}
	invocation struct {
		position
		of     node
		name   node
		static bool
		args   []node
	}
	index struct {
		position
		of, by node
	}
	unary struct {
		position
		operator string
		of       node
	}
	step struct {
		position
		of     node
		by     int64
		before bool
	}
	cast struct {
		position
		kind string
		of   node
	}
	// validated is an expression behind [Validate...()] attributes.
	validated struct {
		position
		by []validator
		of node
	}
	binary struct {
		position
		operator    string
		left, right node
	}
)
