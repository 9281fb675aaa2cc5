package powershell

// node is a statement or an expression; at is where it begins in the script, in bytes.
type node interface{ at() int }

type position int

func (p position) at() int { return int(p) }

// block is the body of a script, a function or a script block.
type block struct {
	parameters *parameters
	// begin, process and end are the named blocks; statements outside of them are in end.
	begin, process, end []node
	traps               []trapStatement
	// source is the text of a whole script, as positions count in it.
	source string
	// streams is set for script blocks with a process block.
	streams bool
}

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

type parameter struct {
	// name is in lower case, shown as the script has it.
	name, shown string
	kinds       []string
	initial     node
	// sets has an entry for each [Parameter()]; one without a name is for all sets.
	sets       []parameterSet
	aliases    []string
	validators []validator
	// null, emptyText and emptyList are what AllowNull and its like let pass.
	null, emptyText, emptyList bool
}

// parameterSet is what a [Parameter()] says of its parameter.
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
		operator  byte // & or . or nothing
		args      []argument
		redirects []redirect
	}
	// argument is a value, a parameter, or both.
	argument struct {
		position
		parameter string
		value     node
		splat     string
		// joined is -Name:value.
		joined bool
		// text is how a parameter is written.
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
		first, negative bool // do, and until
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
		// name is as written, with a scope before it.
		name string
		body *block
		text string
		// filter is set for the keyword filter.
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
		// name is in lower case, shown as written.
		name, shown string
	}
	constant struct {
		position
		value any
		// text is the source text of the word, which a native program gets as its argument.
		text string
	}
	// interpolated is a text with values in it.
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
	// subexpression is $( ) or, as a list, @( ).
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
	// validated is what a [Validate...()] is written before.
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
