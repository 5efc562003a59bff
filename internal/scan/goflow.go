package scan

import (
	"go/ast"
	gotoken "go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/cfg"

	"github.com/toolfold/toolfold/internal/regex"
)

// goFlowRules returns rules that look at what runs in which order, and beside what.
func goFlowRules() []goCheck {
	return []goCheck{
		goRule("go/defer-in-loop", "resource-leak", "medium", 0.85,
			"Make a function of the body of the loop: what is deferred waits for the end of this one.", deferInLoop),
		goRule("go/lock-not-released", "concurrency", "high", 0.9,
			"Defer Unlock behind Lock, or unlock before each return.", lockNotReleased),
		goRule("go/write-under-read-lock", "concurrency", "high", 0.9,
			"Take Lock: others read at the same time under RLock.", writeUnderReadLock),
		goRule("go/deadlock", "concurrency", "high", 0.9,
			"Call a method that takes no lock, or unlock first: mutexes of Go are not reentrant.", deadlock),
		goRule("go/data-race", "concurrency", "high", 0.85,
			"Hold a lock, use sync/atomic, or send the values to one goroutine.", dataRace),
		goRule("go/goroutine-leak", "concurrency", "medium", 0.85,
			"Make the channel with room for the value: nobody receives it where the other case comes first.", goroutineLeak),
		goRule("go/changed-while-ranged", "logic-error", "high", 0.9,
			"Use slices.DeleteFunc, or go from the end: range has the old length.", changedWhileRanged),
	}
}

func deferInLoop(f *goFunction) {
	visit(f.Body, func(d *ast.DeferStmt) {
		loop := f.loop(d)
		s, ok := d.Call.Fun.(*ast.SelectorExpr)
		if loop == nil || !ok || !slices.Contains([]string{"Close", "Unlock", "RUnlock"}, s.Sel.Name) {
			return
		}
		if s.Sel.Name == "Close" && !declaredIn(f.root(s.X), loop) {
			return
		}
		if f.leavesBehind(d) {
			return
		}
		f.Reportf(d.Pos(), "defer in a loop: %s waits for the end of the function", s.Sel.Name)
	})
}

// The methods of mutexes, by the one that undoes what each does.
var unlocking = map[string]string{
	"(*sync.Mutex).Lock": "(*sync.Mutex).Unlock", "(*sync.RWMutex).Lock": "(*sync.RWMutex).Unlock",
	"(*sync.RWMutex).RLock": "(*sync.RWMutex).RUnlock",
}

// isCallOf reports whether a node calls the method of what is written so.
func (f *goFunction) isCallOf(n ast.Node, method, of string) bool {
	return f.callee(n) == method && types.ExprString(receiver(n)) == of
}

// keepsLocked matches names of functions that return with a lock held on purpose.
var keepsLocked = regex.Lazy(`(?i)lock|acquire|begin|enter`)

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
					f.Reportf(ret.Pos(), "%s is still locked on return", of)
					return
				}
				if n == lock {
					f.Reportf(lock.Pos(), "%s is locked again where it was not unlocked", of)
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

func writeUnderReadLock(f *goFunction) {
	visit(f.Body, func(lock *ast.ExprStmt) {
		if f.callee(lock) != "(*sync.RWMutex).RLock" {
			return
		}
		of, owner := types.ExprString(receiver(lock)), f.root(receiver(lock))
		guarded := of + "." // of an embedded mutex all fields beside it
		if s, ok := receiver(lock).(*ast.SelectorExpr); ok {
			guarded = types.ExprString(s.X) + "."
		}
		if owner == nil || has(f.Body, func(call *ast.CallExpr) bool { return strings.HasSuffix(f.callee(call), ").Lock") }) {
			return
		}
		end := f.Body.End()
		for _, s := range f.rest(lock) {
			if f.isCallOf(s, "(*sync.RWMutex).RUnlock", of) {
				end = s.Pos()
				break
			}
		}
		wrote := func(e ast.Expr) {
			e = ast.Unparen(e)
			if lock.End() > e.Pos() || e.Pos() > end || f.root(e) != owner || !strings.HasPrefix(types.ExprString(e), guarded) {
				return
			}
			switch at := e.(type) {
			case *ast.SelectorExpr:
			case *ast.IndexExpr:
				if f.object(at.X) == owner {
					return
				}
			default:
				return
			}
			f.Reportf(e.Pos(), "write under a read lock")
		}
		visit(f.Body, func(a *ast.AssignStmt) {
			if a.Tok != gotoken.DEFINE {
				for _, to := range a.Lhs {
					wrote(to)
				}
			}
		})
		visit(f.Body, func(s *ast.IncDecStmt) { wrote(s.X) })
		visit(f.Body, func(call *ast.CallExpr) {
			if b, ok := f.object(call.Fun).(*types.Builtin); ok && b.Name() == "delete" {
				wrote(call.Args[0])
			}
		})
	})
}

// deadlock finds methods that hold a lock of their receiver to the end, and call another method of it
// that takes the same lock.
func deadlock(f *goFunction) {
	self, field, read := f.heldLock()
	if self == nil {
		return
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit, *ast.GoStmt:
			return false // it may run later
		}
		call, ok := n.(*ast.CallExpr)
		if !ok || f.object(receiverOr(call)) != self {
			return true
		}
		name := f.callee(call)
		for _, other := range f.ResultOf[goFunctions].([]*goFunction) {
			fn, ok := f.TypesInfo.Defs[other.Name].(*types.Func)
			if !ok || other.Recv == nil || fn.Origin().FullName() != name {
				continue
			}
			g := &goFunction{f.Pass, other.FuncDecl, other.parents, other.uses}
			if _, second, alsoRead := g.heldLock(); second == field && !(read && alsoRead) {
				f.Reportf(call.Pos(), "deadlock: %s takes %s, which is held here", other.Name.Name, field)
			}
		}
		return true
	})
}

// receiverOr returns the receiver of a call, or else what is called.
func receiverOr(call *ast.CallExpr) ast.Expr {
	if of := receiver(call); of != nil {
		return of
	}
	return call.Fun
}

// heldLock returns the receiver of a method and the field of it that is locked from the first
// statement to the end of the method; read says that it is a read lock.
func (f *goFunction) heldLock() (self types.Object, field string, read bool) {
	if f.Recv == nil || len(f.Recv.List) != 1 || len(f.Recv.List[0].Names) != 1 || len(f.Body.List) < 2 {
		return nil, "", false
	}
	lock, unlock := f.callee(f.Body.List[0]), unlocking[f.callee(f.Body.List[0])]
	d, ok := f.Body.List[1].(*ast.DeferStmt)
	if unlock == "" || !ok || f.callee(d.Call) != unlock {
		return nil, "", false
	}
	self = f.TypesInfo.Defs[f.Recv.List[0].Names[0]]
	of := receiver(f.Body.List[0])
	if f.root(of) != self || types.ExprString(of) != types.ExprString(receiver(d.Call)) {
		return nil, "", false
	}
	_, field, _ = strings.Cut(types.ExprString(of), ".")
	return self, "." + field, strings.HasSuffix(lock, "RLock")
}

// dataRace finds variables and maps that several goroutines write, which a loop starts.
func dataRace(f *goFunction) {
	started := func(l *ast.FuncLit) bool {
		call, ok := f.parents[l].(*ast.CallExpr)
		if !ok {
			return false
		}
		if _, is := f.parents[call].(*ast.GoStmt); is && call.Fun == l {
			return true
		}
		name := f.callee(call)
		return name == "(*sync.WaitGroup).Go" || name == "(*golang.org/x/sync/errgroup.Group).Go"
	}
	visit(f.Body, func(l *ast.FuncLit) {
		if !started(l) {
			return
		}
		loop := f.loop(f.parents[l])
		if loop == nil {
			return
		}
		synchronised := has(l, func(call *ast.CallExpr) bool {
			return strings.HasSuffix(f.callee(call), "Lock") || strings.HasSuffix(f.callee(call), "(*sync.Once).Do")
		})
		waits := has(loop, func(n ast.Node) bool {
			if n.Pos() <= l.End() {
				return false
			}
			receives, ok := n.(*ast.UnaryExpr)
			return ok && receives.Op == gotoken.ARROW || strings.HasSuffix(f.callee(n), ").Wait")
		})
		if synchronised || waits {
			return
		}
		shared := func(e ast.Expr) bool {
			o, ok := f.root(e).(*types.Var)
			return ok && declaredIn(o, f.FuncDecl) && !declaredIn(o, loop)
		}
		wrote := func(at ast.Node, e ast.Expr) {
			e = ast.Unparen(e)
			if index, ok := e.(*ast.IndexExpr); ok {
				if _, isMap := f.TypesInfo.TypeOf(index.X).Underlying().(*types.Map); !isMap {
					return // each goroutine may have an element of its own
				}
			}
			if shared(e) {
				f.Reportf(at.Pos(), "data race: goroutines write %s at the same time", types.ExprString(e))
			}
		}
		visit(l.Body, func(a *ast.AssignStmt) {
			for i, to := range a.Lhs {
				_, element := ast.Unparen(to).(*ast.IndexExpr)
				appends := len(a.Rhs) == len(a.Lhs) && f.appendsTo(a.Rhs[i], to)
				if element || appends || a.Tok != gotoken.ASSIGN && a.Tok != gotoken.DEFINE {
					wrote(a, to)
				}
			}
		})
		visit(l.Body, func(s *ast.IncDecStmt) { wrote(s, s.X) })
	})
}

// appendsTo reports whether an expression appends to what is written so.
func (f *goFunction) appendsTo(e, to ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	b, ok := f.object(call.Fun).(*types.Builtin)
	return ok && b.Name() == "append" && f.root(to) != nil && f.root(call.Args[0]) == f.root(to) &&
		types.ExprString(call.Args[0]) == types.ExprString(to)
}

// goroutineLeak finds sends of a goroutine to a channel without room, of which the function receives
// only if no other case comes first.
func goroutineLeak(f *goFunction) {
	visit(f.Body, func(a *ast.AssignStmt) {
		if len(a.Lhs) != 1 || len(a.Rhs) != 1 || a.Tok != gotoken.DEFINE {
			return
		}
		made, ok := a.Rhs[0].(*ast.CallExpr)
		if !ok || len(made.Args) != 1 {
			return
		}
		if b, ok := f.object(made.Fun).(*types.Builtin); !ok || b.Name() != "make" {
			return
		}
		ch := f.object(a.Lhs[0])
		if ch == nil {
			return
		}
		var sends []*ast.SendStmt
		received := false
		for _, use := range f.uses[ch] {
			switch n := f.parents[use].(type) {
			case *ast.SendStmt:
				if _, chosen := f.parents[n].(*ast.CommClause); chosen || n.Chan != use || f.loop(n) != nil {
					return
				}
				sends = append(sends, n)
			case *ast.UnaryExpr:
				if !f.maybeReceived(n, a) {
					return
				}
				received = true
			default:
				return
			}
		}
		if !received {
			return
		}
		for _, send := range sends {
			if n := f.literal(send); n != nil {
				if call, ok := f.parents[n].(*ast.CallExpr); ok {
					if _, is := f.parents[call].(*ast.GoStmt); is {
						f.Reportf(send.Pos(), "goroutine that never ends where nobody receives from %s", ch.Name())
					}
				}
			}
		}
	})
}

// literal returns the function literal that a node is in; nil where it is in none.
func (f *goFunction) literal(n ast.Node) *ast.FuncLit {
	for n = f.parents[n]; n != nil; n = f.parents[n] {
		if l, ok := n.(*ast.FuncLit); ok {
			return l
		}
	}
	return nil
}

// maybeReceived reports whether a receive is one of several cases, which are tried once, in the
// function that made the channel.
func (f *goFunction) maybeReceived(receive *ast.UnaryExpr, made ast.Node) bool {
	if f.literal(receive) != f.literal(made) || f.loop(receive) != f.loop(made) {
		return false
	}
	for around := range f.above(receive) {
		switch n := around.(type) {
		case *ast.CommClause:
			if !inside(receive, n.Comm) {
				return false
			}
			block, ok := f.parents[n].(*ast.BlockStmt)
			return ok && len(block.List) > 1
		case *ast.BlockStmt:
			return false
		}
	}
	return false
}

// leavesBehind reports whether the loop around a statement ends behind it, in its block or one around.
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
