package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// The names that expressions may use.
const (
	inputName    = "input"
	stepsName    = "steps"
	agentName    = "agent"
	itemName     = "item"
	indexName    = "index"
	previousName = "previous"
)

// meterName is a function that the library's closures and variables pass
// their values through. No text can call it.
const meterName = "__meter"

// workBudget is what one expression may do: a unit is a round of a closure, a
// value, or 16 bytes of text. The library bounds memory but not time, and not
// the length of texts, so that a few nested closures could run for hours.
const workBudget = 2_000_000

var errTooMuch = errors.New("it takes too much work or makes too large a value")

// meterOfWork counts the work of one evaluation.
type meterOfWork struct {
	ctx  context.Context
	left int
	seen int
}

// pass returns its argument. It panics when the budget is used up or the
// context has ended: the machine turns that into an error.
func (m *meterOfWork) pass(args ...any) any {
	m.charge(args[0])
	m.seen++
	if m.left < 0 {
		panic(errTooMuch)
	}
	if m.seen%1024 == 0 && m.ctx.Err() != nil {
		panic(m.ctx.Err())
	}
	return args[0]
}

// charge pays for a value and what is in it. It stops at an empty budget, so
// that values which share their parts cost no more than that.
func (m *meterOfWork) charge(value any) {
	m.left--
	switch v := value.(type) {
	case string:
		m.left -= len(v) / 16
	case []any:
		for i := 0; i < len(v) && m.left >= 0; i++ {
			m.charge(v[i])
		}
	case map[string]any:
		for key, inner := range v {
			m.left -= len(key) / 16
			if m.charge(inner); m.left < 0 {
				return
			}
		}
	}
}

// references is what an expression mentions by a fixed name.
type references struct {
	steps, agent []string
}

// instrument finds references and puts the meter around the bodies of
// closures and the values of variables.
type instrument struct {
	references
	err error
}

// Visit implements [ast.Visitor].
func (in *instrument) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == meterName || n.Value == "$env" {
			in.err = fmt.Errorf("unknown name %s", n.Value)
		}
	case *ast.MemberNode:
		in.member(n)
	case *ast.PredicateNode:
		n.Node = metered(n.Node)
	case *ast.VariableDeclaratorNode:
		n.Value = metered(n.Value)
	}
}

func (in *instrument) member(n *ast.MemberNode) {
	holder, ok := n.Node.(*ast.IdentifierNode)
	if !ok {
		return
	}
	name, ok := n.Property.(*ast.StringNode)
	if !ok {
		return
	}
	switch holder.Value {
	case stepsName:
		in.steps = append(in.steps, name.Value)
	case agentName:
		in.agent = append(in.agent, name.Value)
	}
}

func metered(n ast.Node) ast.Node {
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: meterName}, Arguments: []ast.Node{n}}
	call.SetLocation(n.Location())
	call.Callee.SetLocation(n.Location())
	return call
}

// maxText is the longest text that one function of an expression may make.
const maxText = 4 << 20

// bounded replaces the library's functions whose result can be far longer
// than their arguments.
var bounded = []expr.Option{
	expr.DisableBuiltin("repeat"),
	expr.DisableBuiltin("replace"),
	expr.DisableBuiltin("join"),
	expr.Function("replace", replaceText, new(func(string, string, string) string)),
	expr.Function("join", joinTexts, new(func(any, string) string), new(func(any) string)),
}

func replaceText(args ...any) (any, error) {
	text, old, now := args[0].(string), args[1].(string), args[2].(string)
	if len(text)+strings.Count(text, old)*len(now) > maxText {
		return nil, errTooMuch
	}
	return strings.ReplaceAll(text, old, now), nil
}

func joinTexts(args ...any) (any, error) {
	list, ok := asList(args[0])
	if !ok {
		return nil, fmt.Errorf("join needs a list, got %s", kindOf(args[0]))
	}
	glue := ""
	if len(args) == 2 {
		glue, _ = args[1].(string)
	}
	var b strings.Builder
	for i, item := range list {
		if i > 0 {
			b.WriteString(glue)
		}
		text, err := textOf(item)
		if err != nil {
			return nil, err
		}
		if b.WriteString(text); b.Len() > maxText {
			return nil, errTooMuch
		}
	}
	return b.String(), nil
}
