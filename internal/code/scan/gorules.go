package scan

import (
	"go/ast"
	"go/constant"
	gotoken "go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/cfg"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// goRules returns rules for faults that no linked analyser finds. Each rule looks at one function
// at a time.
func goRules() []goCheck {
	dropped := goRule("go/dropped-error", "logic-error", "medium", 0.85,
		"Return the error, or assign it to _ if it does not matter.", droppedError)
	body := goRule("go/bodyclose", "resource-leak", "medium", 0.9,
		"Close the body, also if it is not read: else its connection is not used again.", bodyNotClosed)
	dropped.brief, body.brief = true, true
	return []goCheck{
		dropped, body,
		goRule("go/rowserrcheck", "logic-error", "medium", 0.9,
			"Return rows.Err() after the loop: it ends early if the database fails.", rowsErr),
		goRule("go/lock-not-released", "concurrency", "high", 0.9,
			"Defer Unlock behind Lock, or unlock before each return.", lockNotReleased),
		goRule("go/changed-while-ranged", "logic-error", "high", 0.9,
			"Use slices.DeleteFunc, or go from the end: range has the old length.", changedWhileRanged),
	}
}

// goFunction is a function declaration whose body a rule checks, with the function literals in it.
type goFunction struct {
	*analysis.Pass
	*ast.FuncDecl
	parents map[ast.Node]ast.Node
	uses    map[types.Object][]*ast.Ident // without declarations
}

// goFunctions collects the functions of a package, for [goRule].
var goFunctions = &analysis.Analyzer{Name: "functions", Run: func(pass *analysis.Pass) (any, error) {
	var list []*goFunction
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Body == nil {
				continue
			}
			f := &goFunction{FuncDecl: decl, parents: map[ast.Node]ast.Node{}, uses: map[types.Object][]*ast.Ident{}}
			var above []ast.Node
			ast.Inspect(decl, func(n ast.Node) bool {
				if n == nil {
					above = above[:len(above)-1]
					return true
				}
				if len(above) > 0 {
					f.parents[n] = above[len(above)-1]
				}
				above = append(above, n)
				if name, is := n.(*ast.Ident); is {
					if o := pass.TypesInfo.Uses[name]; o != nil {
						f.uses[o] = append(f.uses[o], name)
					}
				}
				return true
			})
			list = append(list, f)
		}
	}
	return list, nil
}}

// goRule returns a check that calls look for one function at a time.
func goRule(name, kind, level string, confidence float64, advice string, look func(f *goFunction)) goCheck {
	source, name, _ := strings.Cut(name, "/")
	return goCheck{source: source, kind: kind, level: level, confidence: confidence, title: advice, analyzer: &analysis.Analyzer{
		Name: name, Requires: []*analysis.Analyzer{goFunctions},
		Run: func(pass *analysis.Pass) (any, error) {
			for _, f := range pass.ResultOf[goFunctions].([]*goFunction) {
				look(&goFunction{pass, f.FuncDecl, f.parents, f.uses})
			}
			return nil, nil
		},
	}}
}

// visit calls look for every node of type N below a node.
func visit[N ast.Node](below ast.Node, look func(n N)) {
	ast.Inspect(below, func(n ast.Node) bool {
		if found, ok := n.(N); ok {
			look(found)
		}
		return true
	})
}

// has reports whether look is true for a node of type N below a node.
func has[N ast.Node](below ast.Node, look func(n N) bool) (found bool) {
	ast.Inspect(below, func(n ast.Node) bool {
		if is, ok := n.(N); ok && !found {
			found = look(is)
		}
		return !found
	})
	return found
}

// callee returns the full name of the function or method that a node calls, such as
// (*sync.Mutex).Lock, or "" if it is not a call of a known function.
func (f *goFunction) callee(n ast.Node) string {
	if s, ok := n.(*ast.ExprStmt); ok {
		n = s.X
	}
	if call, ok := n.(*ast.CallExpr); ok {
		if fn, ok := typeutil.Callee(f.TypesInfo, call).(*types.Func); ok {
			return fn.Origin().FullName()
		}
	}
	return ""
}

// object returns the object that an expression names, or nil.
func (f *goFunction) object(e ast.Expr) types.Object {
	if name, ok := ast.Unparen(e).(*ast.Ident); ok {
		return f.TypesInfo.ObjectOf(name)
	}
	return nil
}

// receiver returns the receiver of a method call, or nil for other nodes.
func receiver(n ast.Node) ast.Expr {
	if s, ok := n.(*ast.ExprStmt); ok {
		n = s.X
	}
	if call, ok := n.(*ast.CallExpr); ok {
		if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
			return s.X
		}
	}
	return nil
}

// is reports whether an expression's type has this name, such as net/http.ResponseWriter.
func (f *goFunction) is(e ast.Expr, name string) bool {
	t := f.TypesInfo.TypeOf(e)
	return t != nil && types.TypeString(types.Unalias(t), nil) == name
}

// above yields the parents of a node, up to the enclosing function or function literal.
func (f *goFunction) above(n ast.Node) func(yield func(ast.Node) bool) {
	return func(yield func(ast.Node) bool) {
		for n = f.parents[n]; n != nil; n = f.parents[n] {
			if _, literal := n.(*ast.FuncLit); literal || n == f.Body || !yield(n) {
				return
			}
		}
	}
}

// loop returns the innermost loop around a node in its function or literal, or nil.
func (f *goFunction) loop(n ast.Node) ast.Node {
	for around := range f.above(n) {
		switch around.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return around
		}
	}
	return nil
}

// rest returns the statements after s in its block.
func (f *goFunction) rest(s ast.Stmt) []ast.Stmt {
	var list []ast.Stmt
	switch around := f.parents[s].(type) {
	case *ast.BlockStmt:
		list = around.List
	case *ast.CaseClause:
		list = around.Body
	case *ast.CommClause:
		list = around.Body
	}
	return list[slices.Index(list, s)+1:] // empty if s is not in the list
}

// leaves reports whether a list of statements ends with a return, or with a jump other than
// continue.
func leaves(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch last := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return last.Tok != gotoken.CONTINUE
	}
	return false
}

// mustCheck are functions whose error means that data was not written or read.
var mustCheck = map[string]bool{
	"os.WriteFile": true, "os.Rename": true, "os.Mkdir": true, "os.MkdirAll": true, "os.Symlink": true, "os.Truncate": true,
	"os.Chdir":                true,
	"encoding/json.Unmarshal": true, "encoding/xml.Unmarshal": true, "(*encoding/json.Decoder).Decode": true,
	"(*encoding/xml.Decoder).Decode": true, "(*encoding/gob.Decoder).Decode": true, "(*encoding/gob.Encoder).Encode": true,
	"(*database/sql.Tx).Commit": true, "(*database/sql.DB).Exec": true, "(*database/sql.DB).ExecContext": true,
	"(*database/sql.Tx).Exec": true, "(*database/sql.Tx).ExecContext": true, "(*database/sql.Stmt).Exec": true,
	"(*database/sql.Stmt).ExecContext": true, "(*database/sql.Rows).Scan": true,
	"(*os.File).Write": true, "(*os.File).WriteString": true, "(*os.File).WriteAt": true, "(*os.File).Truncate": true,
	"(*os.File).Sync": true,
}

func droppedError(f *goFunction) {
	visit(f.Body, func(s *ast.ExprStmt) {
		name := f.callee(s.X)
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return
		}
		into := ast.Expr(nil) // the file that an encoder or a copy writes to
		switch {
		case name == "(*encoding/json.Encoder).Encode":
			if made, ok := receiver(call).(*ast.CallExpr); ok && len(made.Args) == 1 {
				into = made.Args[0]
			}
		case name == "io.Copy" && !f.isPipe(call.Args[0]):
			into = call.Args[0]
		case strings.HasPrefix(name, "(*os.File)") && mustCheck[name]:
			into = receiver(call)
		case mustCheck[name] && f.runsSetting(call):
			f.Reportf(s.Pos(), "error dropped, returned by %s of a setting", name)
			return
		case mustCheck[name]:
			f.Reportf(s.Pos(), "error dropped, returned by %s", name)
			return
		}
		if into == nil || !f.is(into, "*os.File") {
			return
		}
		if o := f.selected(into); o != "os.Stdout" && o != "os.Stderr" {
			f.Reportf(s.Pos(), "error dropped, returned by %s", name)
		}
	})
}

// isPipe reports whether a variable holds a result of os.Pipe: a copy into it ends when the reader
// closes.
func (f *goFunction) isPipe(e ast.Expr) bool {
	return has(f.FuncDecl, func(a *ast.AssignStmt) bool {
		return len(a.Rhs) == 1 && f.callee(a.Rhs[0]) == "os.Pipe" &&
			slices.ContainsFunc(a.Lhs, func(to ast.Expr) bool { return f.object(to) == f.object(e) && f.object(e) != nil })
	})
}

// setting matches SQL statements whose failure is harmless, for example if a table already exists.
var setting = regex.Lazy(`(?i)^\s*(alter|create|drop|pragma|set|vacuum|analyze)\b`)

// runsSetting reports whether an argument of a call is the text of a [setting].
func (f *goFunction) runsSetting(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		value := f.TypesInfo.Types[arg].Value
		return value != nil && value.Kind() == constant.String && setting().MatchString(constant.StringVal(value))
	})
}

// requesting are functions that return a response with a connection.
var requesting = map[string]bool{
	"net/http.Get": true, "net/http.Head": true, "net/http.Post": true, "net/http.PostForm": true,
	"(*net/http.Client).Do": true, "(*net/http.Client).Get": true, "(*net/http.Client).Head": true, "(*net/http.Client).Post": true,
	"(*net/http.Client).PostForm": true, "(net/http.RoundTripper).RoundTrip": true, "(*net/http.Transport).RoundTrip": true,
}

// reading are functions that read a body and do not close it.
var reading = map[string]bool{
	"io.ReadAll": true, "io/ioutil.ReadAll": true, "io.Copy": true, "io.LimitReader": true, "encoding/json.NewDecoder": true,
	"encoding/xml.NewDecoder": true, "bufio.NewReader": true, "bufio.NewScanner": true,
}

// bodyNotClosed finds HTTP responses whose function neither closes the body nor passes the response
// or the body on to code that could.
func bodyNotClosed(f *goFunction) {
	visit(f.Body, func(s *ast.ExprStmt) {
		if requesting[f.callee(s)] {
			f.Reportf(s.Pos(), "response body must be closed")
		}
	})
	visit(f.Body, func(a *ast.AssignStmt) {
		if len(a.Rhs) != 1 || !requesting[f.callee(a.Rhs[0])] {
			return
		}
		answer, local := f.object(a.Lhs[0]).(*types.Var)
		if name, ok := a.Lhs[0].(*ast.Ident); ok && name.Name == "_" {
			f.Reportf(a.Rhs[0].Pos(), "response body must be closed")
			return
		}
		if !local || answer.Parent() == f.Pkg.Scope() || f.isParameter(answer) {
			return
		}
		if !slices.ContainsFunc(f.uses[answer], f.mayClose) {
			f.Reportf(a.Rhs[0].Pos(), "response body must be closed")
		}
	})
}

// isParameter reports whether a variable is a parameter or a named result, to which the caller has
// access.
func (f *goFunction) isParameter(v types.Object) bool {
	return has(f.FuncDecl, func(field *ast.Field) bool {
		return slices.ContainsFunc(field.Names, func(name *ast.Ident) bool { return f.TypesInfo.Defs[name] == v })
	})
}

// mayClose reports whether a use of a response closes its body, or passes it to code that may.
func (f *goFunction) mayClose(answer *ast.Ident) bool {
	field, ok := f.parents[answer].(*ast.SelectorExpr)
	if !ok {
		return !f.isCompared(answer) && !f.isAssigned(answer)
	}
	if field.Sel.Name != "Body" {
		return false
	}
	call, ok := f.parents[field].(*ast.CallExpr)
	return !f.isCompared(field) && !(ok && reading[f.callee(call)])
}

// rowsErr finds loops over database rows without a check of rows.Err.
func rowsErr(f *goFunction) {
	visit(f.Body, func(s *ast.ExprStmt) {
		results, ok := f.TypesInfo.TypeOf(s.X).(*types.Tuple)
		if ok && results.Len() > 0 && types.TypeString(results.At(0).Type(), nil) == "*database/sql.Rows" {
			f.Reportf(s.Pos(), "rows.Err must be checked")
		}
	})
	visit(f.Body, func(a *ast.AssignStmt) {
		if len(a.Rhs) != 1 || len(a.Lhs) == 0 || !f.is(a.Lhs[0], "*database/sql.Rows") {
			return
		}
		rows := f.object(a.Lhs[0])
		if _, called := a.Rhs[0].(*ast.CallExpr); !called || rows == nil || rows.Parent() == f.Pkg.Scope() || f.isParameter(rows) {
			return
		}
		loops := false
		for _, use := range f.uses[rows] {
			method, ok := f.parents[use].(*ast.SelectorExpr)
			switch {
			case !ok && !f.isCompared(use) && !f.isAssigned(use), ok && method.Sel.Name == "Err":
				return // Err is called, or rows is passed on
			case ok && method.Sel.Name == "Next":
				loops = loops || f.loop(use) != nil
			}
		}
		if loops {
			f.Reportf(a.Rhs[0].Pos(), "rows.Err must be checked")
		}
	})
}

// isCompared reports whether an expression is an operand of a comparison.
func (f *goFunction) isCompared(e ast.Expr) bool {
	b, ok := f.parents[e].(*ast.BinaryExpr)
	return ok && (b.Op == gotoken.EQL || b.Op == gotoken.NEQ)
}

// isAssigned reports whether an expression is assigned to.
func (f *goFunction) isAssigned(e ast.Expr) bool {
	a, ok := f.parents[e].(*ast.AssignStmt)
	return ok && slices.Contains(a.Lhs, e)
}

// selected returns the full name of a variable of another package, or "" for other expressions.
func (f *goFunction) selected(e ast.Expr) string {
	if s, ok := ast.Unparen(e).(*ast.SelectorExpr); ok {
		if v, ok := f.TypesInfo.Uses[s.Sel].(*types.Var); ok && v.Pkg() != nil {
			return v.Pkg().Path() + "." + v.Name()
		}
	}
	return ""
}

// unlocking maps the methods that lock a mutex to those that unlock it.
var unlocking = map[string]string{
	"(*sync.Mutex).Lock": "(*sync.Mutex).Unlock", "(*sync.RWMutex).Lock": "(*sync.RWMutex).Unlock",
	"(*sync.RWMutex).RLock": "(*sync.RWMutex).RUnlock",
}

// isCallOf reports whether a node calls a method of the expression of, compared as text.
func (f *goFunction) isCallOf(n ast.Node, method, of string) bool {
	return f.callee(n) == method && types.ExprString(receiver(n)) == of
}

// keepsLocked matches names of functions that hold a lock on return on purpose.
var keepsLocked = regex.Lazy(`(?i)lock|acquire|begin|enter|open|hold|handle`)

// lockNotReleased finds returns between Lock and Unlock.
func lockNotReleased(f *goFunction) {
	visit(f.Body, func(lock *ast.ExprStmt) {
		unlock := unlocking[f.callee(lock)]
		block, ok := f.parents[lock].(*ast.BlockStmt)
		if unlock == "" || !ok {
			return
		}
		of := types.ExprString(receiver(lock))
		isUnlock := func(n ast.Node) bool {
			return has(n, func(call *ast.CallExpr) bool { return f.isCallOf(call, unlock, of) })
		}
		elsewhere := keepsLocked().MatchString(f.Name.Name) || has(f.Body, func(d *ast.DeferStmt) bool { return isUnlock(d) }) ||
			has(f.Body, func(l *ast.FuncLit) bool { return isUnlock(l) })
		behind := slices.ContainsFunc(f.rest(lock), func(s ast.Stmt) bool { return isUnlock(s) })
		if elsewhere || !behind || len(block.List) == 0 {
			return
		}
		body := f.Body
		for n := f.parents[lock]; n != nil; n = f.parents[n] {
			if literal, ok := n.(*ast.FuncLit); ok {
				body = literal.Body
				break
			}
		}
		graph := cfg.New(body, func(call *ast.CallExpr) bool {
			b, builtin := f.object(call.Fun).(*types.Builtin)
			return !endless[f.callee(call)] && !(builtin && b.Name() == "panic")
		})
		seen := map[*cfg.Block]bool{}
		var follow func(b *cfg.Block, from int)
		follow = func(b *cfg.Block, from int) {
			for _, n := range b.Nodes[from:] {
				if isUnlock(n) {
					return
				}
				if ret, ok := n.(*ast.ReturnStmt); ok {
					if !f.handsOver(ret, receiver(lock), of+"."+unlock[strings.LastIndexByte(unlock, '.')+1:]) {
						f.Reportf(ret.Pos(), "%s is still locked on return", of)
					}
					return
				}
				if n == lock {
					f.Reportf(lock.Pos(), "%s is locked again before it was unlocked", of)
					return
				}
			}
			for _, next := range b.Succs {
				if !seen[next] {
					seen[next] = true
					follow(next, 0)
				}
			}
		}
		for _, b := range graph.Blocks {
			if at := slices.Index(b.Nodes, ast.Node(lock)); at >= 0 && b.Live {
				follow(b, at+1)
			}
		}
	})
}

// handsOver reports whether a return passes the duty to unlock to the caller: it returns the unlock
// method, or the value that contains the lock.
func (f *goFunction) handsOver(ret *ast.ReturnStmt, lock ast.Expr, unlock string) bool {
	root := lock
	for {
		s, ok := ast.Unparen(root).(*ast.SelectorExpr)
		if !ok {
			break
		}
		root = s.X
	}
	holder := f.object(root)
	return has(ret, func(s *ast.SelectorExpr) bool { return types.ExprString(s) == unlock }) ||
		has(ret, func(name *ast.Ident) bool {
			_, selects := f.parents[name].(*ast.SelectorExpr)
			return holder != nil && !selects && f.TypesInfo.Uses[name] == holder
		})
}

// leavesBehind reports whether the loop around a statement ends right after it, in its block or an
// outer one.
func (f *goFunction) leavesBehind(s ast.Stmt) bool {
	if leaves(f.rest(s)) {
		return true
	}
	for around := range f.above(s) {
		switch n := around.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return false
		case *ast.IfStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.BlockStmt:
			if leaves(f.rest(n.(ast.Stmt))) {
				return true
			}
		}
	}
	return false
}

func changedWhileRanged(f *goFunction) {
	visit(f.Body, func(loop *ast.RangeStmt) {
		list := f.object(loop.X)
		if list == nil {
			return
		}
		if _, slice := list.Type().Underlying().(*types.Slice); !slice {
			return
		}
		visit(loop.Body, func(a *ast.AssignStmt) {
			if len(a.Lhs) != 1 || len(a.Rhs) != 1 || f.object(a.Lhs[0]) != list || f.loop(a) != ast.Node(loop) || f.leavesBehind(a) {
				return
			}
			call, ok := a.Rhs[0].(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return
			}
			b, builtin := f.object(call.Fun).(*types.Builtin)
			part, sliced := call.Args[0].(*ast.SliceExpr)
			rest, alsoSliced := call.Args[1].(*ast.SliceExpr)
			removes := builtin && b.Name() == "append" && sliced && part.High != nil && f.object(part.X) == list &&
				alsoSliced && f.object(rest.X) == list && call.Ellipsis.IsValid() ||
				f.callee(call) == "slices.Delete" && f.object(call.Args[0]) == list
			if removes {
				f.Reportf(a.Pos(), "%s loses elements while it is ranged over", list.Name())
			}
		})
	})
}
