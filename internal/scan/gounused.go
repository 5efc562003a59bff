package scan

import (
	"go/ast"
	gotoken "go/token"
	"go/types"
	"go/version"
	"slices"
	"strings"
)

// goUnusedRules returns rules that look at what is made, or returned, and then not used.
func goUnusedRules() []goCheck {
	return []goCheck{
		goRule("go/dropped-error", "logic-error", "medium", 0.85,
			"Return the error, or say with _ = that it does not matter.", droppedError),
		goRule("go/dropped-result", "logic-error", "medium", 0.95,
			"Assign the result: what is given stays as it is.", droppedResult),
		goRule("go/unclosed-file", "resource-leak", "high", 0.85,
			"Defer Close once the error is checked.", unclosedFile),
		goRule("go/unstopped-ticker", "timer-leak", "medium", 0.85,
			"Defer Stop: before Go 1.23 a ticker runs on when nothing uses it.", unstoppedTicker),
		goRule("go/transaction-left-open", "resource-leak", "high", 0.85,
			"Defer Rollback behind Begin: after Commit it does nothing.", openTransaction),
		goRule("go/lost-append", "logic-error", "high", 0.9,
			"Return the slice, or take a pointer: the caller has the old one.", lostAppend),
		goRule("go/changed-copy", "logic-error", "high", 0.9,
			"Assign to the element, list[i], or range over pointers: the variable is a copy.", changedCopy),
	}
}

// mustCheck are functions whose error says that something was not written or not read.
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
		case name == "io.Copy":
			into = call.Args[0]
		case strings.HasPrefix(name, "(*os.File)") && mustCheck[name]:
			into = receiver(call)
		case mustCheck[name]:
			f.Reportf(s.Pos(), "error dropped: that of %s", name)
			return
		}
		if into == nil || !f.is(into, "*os.File") {
			return
		}
		if o := f.selected(into); o != "os.Stdout" && o != "os.Stderr" {
			f.Reportf(s.Pos(), "error dropped: that of %s", name)
		}
	})
}

// droppedResult finds calls, as statements, of functions that do nothing but return something.
func droppedResult(f *goFunction) {
	visit(f.Body, func(s *ast.ExprStmt) {
		name := f.callee(s.X)
		if strings.HasPrefix(name, "strings.") || strings.HasPrefix(name, "path.") || strings.HasPrefix(name, "path/filepath.") &&
			!strings.Contains(name, "Walk") || strings.HasPrefix(name, "(time.Time).") || strings.HasPrefix(name, "(time.Duration).") {
			f.Reportf(s.Pos(), "result dropped: that of %s", name)
		}
	})
}

// selected returns the full name of a variable of another package; empty for what is none.
func (f *goFunction) selected(e ast.Expr) string {
	if s, ok := ast.Unparen(e).(*ast.SelectorExpr); ok {
		if v, ok := f.TypesInfo.Uses[s.Sel].(*types.Var); ok && v.Pkg() != nil {
			return v.Pkg().Path() + "." + v.Name()
		}
	}
	return ""
}

// made calls look with each variable that gets the first result of a call to one of the functions.
func (f *goFunction) made(functions []string, look func(o *types.Var, at *ast.CallExpr)) {
	visit(f.Body, func(a *ast.AssignStmt) {
		if len(a.Rhs) != 1 || !slices.Contains(functions, f.callee(a.Rhs[0])) {
			return
		}
		if o, ok := f.object(a.Lhs[0]).(*types.Var); ok && declaredIn(o, f.Body) {
			look(o, a.Rhs[0].(*ast.CallExpr))
		}
	})
}

// keeps reports whether each use of a variable is the receiver of a method that is none of ending, a
// comparison, an assignment to it, or an argument of a function that only reads or writes it. Then
// no other code can end it.
func (f *goFunction) keeps(o types.Object, ending ...string) bool {
	for _, use := range f.uses[o] {
		switch n := f.parents[use].(type) {
		case *ast.SelectorExpr:
			call, called := f.parents[n].(*ast.CallExpr)
			_, isField := f.TypesInfo.ObjectOf(n.Sel).(*types.Var)
			if slices.Contains(ending, n.Sel.Name) || !isField && (!called || call.Fun != n) {
				return false
			}
		case *ast.BinaryExpr:
		case *ast.AssignStmt:
			if !slices.Contains(n.Lhs, ast.Expr(use)) {
				return false
			}
		case *ast.CallExpr:
			if !borrows[f.callee(n)] {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// borrows are functions that do not close what they are given.
var borrows = map[string]bool{
	"io.ReadAll": true, "io.Copy": true, "io.WriteString": true, "bufio.NewReader": true, "bufio.NewScanner": true, "bufio.NewWriter": true,
	"encoding/json.NewDecoder": true, "encoding/json.NewEncoder": true, "encoding/csv.NewReader": true, "encoding/csv.NewWriter": true,
	"fmt.Fprintf": true, "fmt.Fprintln": true, "fmt.Fprint": true, "fmt.Fscan": true, "io.ReadFull": true,
}

func unclosedFile(f *goFunction) {
	f.made([]string{"os.Open", "os.Create", "os.OpenFile", "os.CreateTemp"}, func(o *types.Var, at *ast.CallExpr) {
		if f.Name.Name != "main" && f.keeps(o, "Close") {
			f.Reportf(at.Pos(), "file that is never closed")
		}
	})
}

func unstoppedTicker(f *goFunction) {
	if f.Module == nil || f.Module.GoVersion == "" || version.Compare("go"+f.Module.GoVersion, "go1.23") >= 0 {
		return
	}
	f.made([]string{"time.NewTicker"}, func(o *types.Var, at *ast.CallExpr) {
		if f.Name.Name != "main" && f.keeps(o, "Stop") {
			f.Reportf(at.Pos(), "ticker that is never stopped")
		}
	})
}

func openTransaction(f *goFunction) {
	f.made([]string{"(*database/sql.DB).Begin", "(*database/sql.DB).BeginTx", "(*database/sql.Conn).BeginTx"}, func(o *types.Var,
		at *ast.CallExpr) {
		early := has(f.Body, func(ret *ast.ReturnStmt) bool { // behind the check of Begin's own error
			return ret.Pos() > at.End() && len(f.uses[o]) > 0 && ret.Pos() > f.uses[o][0].Pos() &&
				!has(ret, func(n *ast.Ident) bool { return f.TypesInfo.Uses[n] == o })
		})
		if early && f.keeps(o, "Rollback") {
			f.Reportf(at.Pos(), "transaction that stays open where the function returns early")
		}
	})
}

// lostAppend finds parameters that are only ever appended to.
func lostAppend(f *goFunction) {
	visit(f.Body, func(a *ast.AssignStmt) {
		if len(a.Lhs) != 1 || len(a.Rhs) != 1 || a.Tok != gotoken.ASSIGN || !f.appendsTo(a.Rhs[0], a.Lhs[0]) {
			return
		}
		o, ok := f.root(a.Lhs[0]).(*types.Var)
		if !ok || !declaredIn(o, f.Type) && (f.Recv == nil || !declaredIn(o, f.Recv)) ||
			f.Type.Results != nil && declaredIn(o, f.Type.Results) {
			return
		}
		switch o.Type().Underlying().(type) {
		case *types.Slice, *types.Struct:
		default:
			return
		}
		for n := ast.Unparen(a.Lhs[0]); ; { // no pointer and no element on the way, which the caller has too
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				if _, name := n.(*ast.Ident); !name {
					return
				}
				break
			}
			if _, pointer := f.TypesInfo.TypeOf(s.X).Underlying().(*types.Pointer); pointer {
				return
			}
			n = ast.Unparen(s.X)
		}
		for _, use := range f.uses[o] {
			n := ast.Node(use)
			for {
				if _, ok := f.parents[n].(*ast.SelectorExpr); !ok {
					break
				}
				n = f.parents[n]
			}
			in := f.parents[n]
			if call, ok := in.(*ast.CallExpr); ok && len(call.Args) > 0 && call.Args[0] == n {
				in = f.parents[call]
			}
			other, ok := in.(*ast.AssignStmt)
			if !ok || len(other.Lhs) != 1 || len(other.Rhs) != 1 || !f.appendsTo(other.Rhs[0], other.Lhs[0]) || f.root(other.Lhs[0]) != o {
				return
			}
		}
		f.Reportf(a.Pos(), "append to %s, which the caller does not see", types.ExprString(a.Lhs[0]))
	})
}

// changedCopy finds fields set in the variable of a range, which nothing reads afterwards.
func changedCopy(f *goFunction) {
	visit(f.Body, func(loop *ast.RangeStmt) {
		if loop.Value == nil || loop.Tok != gotoken.DEFINE {
			return
		}
		o := f.object(loop.Value)
		if o == nil {
			return
		}
		if _, isStruct := o.Type().Underlying().(*types.Struct); !isStruct {
			return
		}
		set := func(at ast.Node, to ast.Expr) {
			s, ok := ast.Unparen(to).(*ast.SelectorExpr)
			if !ok || f.object(s.X) != o || f.loop(at) != ast.Node(loop) {
				return
			}
			read := slices.ContainsFunc(f.uses[o], func(use *ast.Ident) bool {
				if use.Pos() <= at.End() && f.literal(use) == f.literal(at) {
					_, taken := f.parents[use].(*ast.UnaryExpr)
					return taken
				}
				s, ok := f.parents[use].(*ast.SelectorExpr)
				if !ok {
					return true
				}
				a, ok := f.parents[s].(*ast.AssignStmt)
				return !ok || !slices.Contains(a.Lhs, ast.Expr(s))
			})
			if method, called := f.parents[s].(*ast.CallExpr); !read && !(called && method.Fun == s) {
				f.Reportf(at.Pos(), "%s is set in a copy of the element", types.ExprString(s))
			}
		}
		visit(loop.Body, func(a *ast.AssignStmt) {
			for _, to := range a.Lhs {
				set(a, to)
			}
		})
		visit(loop.Body, func(s *ast.IncDecStmt) { set(s, s.X) })
	})
}
