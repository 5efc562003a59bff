package expression

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// workName is the function that charges the budget and runs the operations that the library does
// not limit. The source of an expression cannot call it.
const workName = "__work"

// The operations of the function workName, which are its first argument. A pass operation charges
// for a value and returns it.
const (
	passText  = iota // its text
	passItems        // its text, and the number of its items or members
	passDeep         // the whole value
	passRound        // the whole value and a number of nodes, for each round of a closure
	passSort         // its items, for each comparison of a sort
	passZone         // its text, and loading a time zone

	// Operations whose result or work can exceed a charge for their operands.
	doAdd
	doSubtract
	doMultiply
	doDivide
	doPower
	doIn
	doMatches
	doUniq
	doSort
	doSplit
	doSplitAfter
	doJoin
	doReplace
	doRepeat
	doToJSON
	doFromJSON
	doInt
	doFloat
)

// Operators and functions that workName runs.
var (
	operators = map[string]int{
		"+": doAdd, "-": doSubtract, "*": doMultiply, "/": doDivide, "**": doPower, "^": doPower,
		"in": doIn, "matches": doMatches,
	}
	functions = map[string]int{
		"uniq": doUniq, "sort": doSort, "split": doSplit, "splitAfter": doSplitAfter, "join": doJoin,
		"replace": doReplace, "repeat": doRepeat, "toJSON": doToJSON, "fromJSON": doFromJSON, "int": doInt, "float": doFloat,
	}
)

// charges has the pass operation for the arguments of the library's functions. A function in
// neither map is rejected, so that functions of later library versions are not free.
var charges = map[string]int{
	// These read texts or a single item.
	"len": passText, "type": passText, "abs": passText, "ceil": passText, "floor": passText, "round": passText,
	"trim": passText, "trimPrefix": passText, "trimSuffix": passText, "upper": passText, "lower": passText,
	"indexOf": passText, "lastIndexOf": passText, "hasPrefix": passText, "hasSuffix": passText,
	"toBase64": passText, "fromBase64": passText, "now": passText, "duration": passText,
	"date": passZone, "timezone": passZone,
	"first": passText, "last": passText, "get": passText, "take": passText,
	"bitand": passText, "bitor": passText, "bitxor": passText, "bitnand": passText, "bitnot": passText,
	"bitshl": passText, "bitshr": passText, "bitushr": passText,

	// These read the items of a list or an object.
	"keys": passItems, "values": passItems, "toPairs": passItems, "fromPairs": passItems, "reverse": passItems, "concat": passItems,

	// These read nested values.
	"string": passDeep, "flatten": passDeep, "min": passDeep, "max": passDeep, "mean": passDeep, "median": passDeep,

	// Closures: the list is charged here, and each round at its end.
	"all": passItems, "none": passItems, "any": passItems, "one": passItems, "filter": passItems, "map": passItems,
	"count": passItems, "sum": passItems, "find": passItems, "findIndex": passItems, "findLast": passItems, "findLastIndex": passItems,
	"groupBy": passItems, "reduce": passItems, "sortBy": passSort,
}

// patcher puts calls of workName into a syntax tree. Inner nodes are visited
// before outer ones.
type patcher struct {
	mentions Mentions
	err      error // the first error
}

func (p *patcher) refuse(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// Visit implements [ast.Visitor].
func (p *patcher) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == workName || n.Value == "$env" {
			p.refuse("unknown name %s", n.Value)
		}
	case *ast.MemberNode:
		if holder, ok := n.Node.(*ast.IdentifierNode); ok {
			if name, ok := n.Property.(*ast.StringNode); ok {
				p.mentions[holder.Value] = append(p.mentions[holder.Value], name.Value)
			}
		}
		n.Property = charge(passText, n.Property)
	case *ast.PairNode:
		n.Key = charge(passText, n.Key)
	case *ast.VariableDeclaratorNode:
		n.Value = charge(passDeep, n.Value)
	case *ast.PredicateNode:
		size := counter(0)
		ast.Walk(&n.Node, &size)
		n.Node = call(n.Node, passRound, n.Node, &ast.IntegerNode{Value: int(size)})
	case *ast.BinaryNode:
		p.binary(node, n)
	case *ast.BuiltinNode:
		p.builtin(node, n)
	}
}

func (p *patcher) binary(node *ast.Node, n *ast.BinaryNode) {
	literals := isLiteral(n.Left) || isLiteral(n.Right)
	op, done := operators[n.Operator]
	switch {
	case done:
		*node = call(n, op, n.Left, n.Right)
	case n.Operator == "==" || n.Operator == "!=":
		if !literals {
			n.Left = charge(passDeep, n.Left)
		}
	case n.Operator == "contains" || n.Operator == "startsWith" || n.Operator == "endsWith":
		n.Left = charge(passText, n.Left)
	case n.Operator == "<" || n.Operator == ">" || n.Operator == "<=" || n.Operator == ">=":
		if !literals {
			n.Left = charge(passText, n.Left)
		}
	}
}

func (p *patcher) builtin(node *ast.Node, n *ast.BuiltinNode) {
	if op, done := functions[n.Name]; done {
		*node = call(n, op, n.Arguments...)
		return
	}
	op, known := charges[n.Name]
	if !known {
		p.refuse("the function %s is not taken: its work cannot be bounded", n.Name)
		return
	}
	for i, argument := range n.Arguments {
		_, closure := argument.(*ast.PredicateNode)
		switch {
		case closure:
		case op == passZone:
			n.Arguments[i] = call(argument, op, argument)
		default:
			n.Arguments[i] = charge(op, argument)
		}
	}
	if n.Name == "sum" {
		// The library's sum overflows 64 bits without an error.
		var item ast.Node = &ast.PointerNode{}
		if len(n.Arguments) == 2 {
			item = n.Arguments[1].(*ast.PredicateNode).Node
		}
		total := call(n, doAdd, &ast.PointerNode{Name: "acc"}, item)
		*node = &ast.BuiltinNode{Name: "reduce", Arguments: []ast.Node{n.Arguments[0], &ast.PredicateNode{Node: total}, &ast.IntegerNode{}}}
		(*node).SetLocation(n.Location())
	}
}

// charge passes a node through workName, unless it is a literal.
func charge(op int, n ast.Node) ast.Node {
	if isLiteral(n) {
		return n
	}
	return call(n, op, n)
}

// call returns a call of workName that replaces a node.
func call(place ast.Node, op int, arguments ...ast.Node) ast.Node {
	callee, number := &ast.IdentifierNode{Value: workName}, &ast.IntegerNode{Value: op}
	n := &ast.CallNode{Callee: callee, Arguments: append([]ast.Node{number}, arguments...)}
	for _, inner := range []ast.Node{n, callee, number} {
		inner.SetLocation(place.Location())
	}
	return n
}

// isLiteral reports whether a node is a literal number, text, true, false or nil.
func isLiteral(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
		return true
	case *ast.UnaryNode:
		return isLiteral(n.Node)
	}
	return false
}

// counter counts the nodes of a tree.
type counter int

// Visit implements [ast.Visitor].
func (c *counter) Visit(*ast.Node) { *c++ }
