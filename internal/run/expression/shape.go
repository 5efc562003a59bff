package expression

import (
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Shape is the known type of a future value. Nil means that the value may be anything.
type Shape struct {
	Kind toolfold.Kind // object, array, string, number or boolean

	Members map[string]*Shape // of an object, by name
	Closed  bool              // the object has no other members
	Others  *Shape            // of the other members of an open object
	Item    *Shape            // of a list
}

// Shapes has the shapes of variables by name.
type Shapes map[string]*Shape

// Absent describes the members that an expression reads but that its variables cannot have. It
// returns nil for a source that does not parse, because [Compile] reports it.
func Absent(source string, variables Shapes) []string {
	tree, err := parser.Parse(source)
	if err != nil {
		return nil
	}
	r := reader{variables: variables}
	r.shape(tree.Node)
	return r.faults
}

// ShapeOf returns the shape of an expression's value, or nil if it is unknown.
func ShapeOf(source string, variables Shapes) *Shape {
	tree, err := parser.Parse(source)
	if err != nil {
		return nil
	}
	r := reader{variables: variables}
	return r.shape(tree.Node)
}

// reader walks a syntax tree.
type reader struct {
	variables Shapes
	items     []*Shape // of the enclosing closures, innermost last
	faults    []string
}

// shape returns the shape of a node and records faults for members that cannot exist.
func (r *reader) shape(node ast.Node) *Shape {
	switch n := node.(type) {
	case *ast.StringNode:
		return &Shape{Kind: toolfold.KindString}
	case *ast.IntegerNode, *ast.FloatNode:
		return &Shape{Kind: toolfold.KindNumber}
	case *ast.BoolNode:
		return &Shape{Kind: toolfold.KindBoolean}
	case *ast.IdentifierNode:
		return r.variables[n.Value]
	case *ast.PointerNode:
		if n.Name == "" && len(r.items) > 0 {
			return r.items[len(r.items)-1]
		}
	case *ast.ChainNode:
		return r.shape(n.Node)
	case *ast.MemberNode:
		return r.member(n, r.shape(n.Node), n.Property)
	case *ast.SliceNode:
		r.all(n.From, n.To)
		return r.shape(n.Node)
	case *ast.UnaryNode:
		r.shape(n.Node)
	case *ast.BinaryNode:
		left, right := r.shape(n.Left), r.shape(n.Right)
		if n.Operator == "??" {
			return either(left, right, n.Right)
		}
	case *ast.ConditionalNode:
		r.shape(n.Cond)
		return either(r.shape(n.Exp1), r.shape(n.Exp2), n.Exp2)
	case *ast.VariableDeclaratorNode:
		inner := maps.Clone(r.variables)
		inner[n.Name] = r.shape(n.Value)
		outer := r.variables
		r.variables = inner
		shape := r.shape(n.Expr)
		r.variables = outer
		return shape
	case *ast.SequenceNode:
		var last *Shape
		for _, inner := range n.Nodes {
			last = r.shape(inner)
		}
		return last
	case *ast.CallNode:
		r.shape(n.Callee)
		r.all(n.Arguments...)
	case *ast.PredicateNode:
		return r.shape(n.Node)
	case *ast.ArrayNode:
		r.all(n.Nodes...)
		return &Shape{Kind: toolfold.KindArray}
	case *ast.MapNode:
		object := &Shape{Kind: toolfold.KindObject, Members: map[string]*Shape{}}
		for _, inner := range n.Pairs {
			pair := inner.(*ast.PairNode)
			r.shape(pair.Key)
			value := r.shape(pair.Value)
			if name, plain := pair.Key.(*ast.StringNode); plain {
				object.Members[name.Value] = value
			}
		}
		return object
	case *ast.BuiltinNode:
		return r.builtin(n)
	}
	return nil
}

// all walks nodes; some may be nil.
func (r *reader) all(nodes ...ast.Node) {
	for _, n := range nodes {
		if n != nil {
			r.shape(n)
		}
	}
}

// member returns the shape of a member or an item of holder.
func (r *reader) member(place ast.Node, holder *Shape, property ast.Node) *Shape {
	text, named := property.(*ast.StringNode)
	if !named {
		r.shape(property)
	}
	if holder == nil {
		return nil
	}
	if !named {
		return holder.Item
	}
	if holder.Kind != toolfold.KindObject {
		r.fault(place, ofKind(holder.Kind))
		return nil
	}
	known, has := holder.Members[text.Value]
	switch {
	case has:
		return known
	case holder.Closed:
		why := ""
		if near := suggest.Nearest(text.Value, slices.Sorted(maps.Keys(holder.Members))); near != "" {
			why = ", did you mean " + near + "?"
		}
		r.fault(place, why)
		return nil
	}
	return holder.Others
}

// fault records that a member does not exist, and why.
func (r *reader) fault(place ast.Node, why string) {
	text := shorten(place.String()) + " does not exist" + why
	if !slices.Contains(r.faults, text) {
		r.faults = append(r.faults, text)
	}
}

// ofKind explains why a value of a kind has no members.
func ofKind(kind toolfold.Kind) string {
	if kind == toolfold.KindArray {
		return ": it would be a member of an array, whose items have an index, as in list[0]"
	}
	return ": it would be a member of a " + string(kind)
}

func shorten(source string) string {
	if runes := []rune(source); len(runes) > 80 {
		return "…" + string(runes[len(runes)-80:])
	}
	return source
}

// either returns the shape of a value that has the shape a or b. Nil or [] as the second value does
// not count.
func either(a, b *Shape, second ast.Node) *Shape {
	switch n := second.(type) {
	case *ast.NilNode:
		return a
	case *ast.ArrayNode:
		if len(n.Nodes) == 0 && a != nil && a.Kind == toolfold.KindArray {
			return a
		}
	}
	if a == b {
		return a
	}
	return nil
}

// builtin returns the shape of the result of a function.
func (r *reader) builtin(n *ast.BuiltinNode) *Shape {
	if len(n.Arguments) == 0 {
		return nil
	}
	list := r.shape(n.Arguments[0])
	var item *Shape
	if list != nil {
		item = list.Item
	}
	var result *Shape // of the predicate
	for _, argument := range n.Arguments[1:] {
		if _, closure := argument.(*ast.PredicateNode); !closure {
			r.shape(argument)
			continue
		}
		r.items = append(r.items, item)
		result = r.shape(argument)
		r.items = r.items[:len(r.items)-1]
	}
	switch n.Name {
	case "filter", "sortBy", "take", "reverse", "sort", "uniq":
		return list
	case "map":
		return &Shape{Kind: toolfold.KindArray, Item: result}
	case "find", "findLast", "first", "last":
		return item
	case "groupBy":
		return &Shape{Kind: toolfold.KindObject, Others: list}
	case "get":
		if len(n.Arguments) == 2 {
			return r.member(n, list, n.Arguments[1])
		}
	case "len", "count", "findIndex", "findLastIndex", "indexOf", "lastIndexOf", "int", "float", "abs", "ceil", "floor", "round":
		return &Shape{Kind: toolfold.KindNumber}
	case "trim", "upper", "lower", "join", "string", "toJSON", "type", "replace", "repeat":
		return &Shape{Kind: toolfold.KindString}
	case "all", "any", "none", "one", "hasPrefix", "hasSuffix":
		return &Shape{Kind: toolfold.KindBoolean}
	}
	return nil
}
