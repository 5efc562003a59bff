package scan

import (
	"go/ast"
	"go/constant"
	gotoken "go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/toolfold/toolfold/internal/regex"
)

// goRules returns rules for well-known faults that no linked analyser finds. Each looks at one function at a
// time, as far as its text shows the fault.
func goRules() []goCheck {
	return slices.Concat(goFlowRules(), goUnusedRules(), goRequestRules(), []goCheck{
		goRule("go/insecure-random", "security", "high", 0.85,
			"Use crypto/rand: what math/rand returns can be predicted.", insecureRandom),
		goRule("go/weak-password-hash", "security", "high", 0.9,
			"Use bcrypt, scrypt or argon2: a fast hash is found by trying.", weakPasswordHash),
		goRule("go/integer-overflow", "type-error", "medium", 0.85,
			"Parse with the size that is wanted, or compare with its limits first.", integerOverflow),
		goRule("go/duration-without-unit", "logic-error", "high", 0.85,
			"Multiply by time.Second or another unit: a plain number is nanoseconds.", durationWithoutUnit),
		goRule("go/typed-nil", "null-reference", "high", 0.9,
			"Declare the variable as error: a nil pointer in an interface is not nil.", typedNil),
		goRule("go/time-equality", "logic-error", "medium", 0.8,
			"Use Equal: == compares locations and clock readings too.", timeEquality),
		goRule("go/index-past-end", "logic-error", "high", 0.95,
			"The last index is the length less one.", goIndexPastEnd),
		goRule("go/wrong-error", "logic-error", "high", 0.85,
			"Return the error that was compared.", wrongError),
		goRule("go/integer-division", "logic-error", "medium", 0.8,
			"Convert to float64, or multiply, before dividing: integers lose what is behind the point.", integerDivision),
	})
}

// goFunction is a function whose body, with those of the literals in it, a rule looks at.
type goFunction struct {
	*analysis.Pass
	*ast.FuncDecl
	parents map[ast.Node]ast.Node
	uses    map[types.Object][]*ast.Ident // not where they are declared
}

// goFunctions are the functions of a package, for [goRule].
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

// goRule is a check that looks at one function at a time.
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

// visit calls look with every node of a type below a node.
func visit[N ast.Node](below ast.Node, look func(n N)) {
	ast.Inspect(below, func(n ast.Node) bool {
		if found, ok := n.(N); ok {
			look(found)
		}
		return true
	})
}

// has reports whether look is true of a node of a type below a node.
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
// (*sync.Mutex).Lock; empty where the node calls none that is known.
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

// object returns the object that an expression names; nil where it names none.
func (f *goFunction) object(e ast.Expr) types.Object {
	if name, ok := ast.Unparen(e).(*ast.Ident); ok {
		return f.TypesInfo.ObjectOf(name)
	}
	return nil
}

// root returns the object that a path of selectors and indexes begins with; nil where it begins with
// something else.
func (f *goFunction) root(e ast.Expr) types.Object {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return f.object(x)
		}
	}
}

// receiver returns what the method is called of; nil where the node calls no method.
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

// is reports whether an expression has a type of that name, such as net/http.ResponseWriter.
func (f *goFunction) is(e ast.Expr, name string) bool {
	t := f.TypesInfo.TypeOf(e)
	return t != nil && types.TypeString(types.Unalias(t), nil) == name
}

// above yields the nodes around a node, up to the function or the literal that it is in.
func (f *goFunction) above(n ast.Node) func(yield func(ast.Node) bool) {
	return func(yield func(ast.Node) bool) {
		for n = f.parents[n]; n != nil; n = f.parents[n] {
			if _, literal := n.(*ast.FuncLit); literal || n == f.Body || !yield(n) {
				return
			}
		}
	}
}

// loop returns the innermost loop around a node, in the function or literal that it is in; nil without one.
func (f *goFunction) loop(n ast.Node) ast.Node {
	for around := range f.above(n) {
		switch around.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return around
		}
	}
	return nil
}

// rest returns the statements behind one, in its block.
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
	return list[slices.Index(list, s)+1:] // none where it stands in no list
}

// leaves reports whether a list of statements ends what is around it.
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

func inside(n, around ast.Node) bool { return around.Pos() <= n.Pos() && n.End() <= around.End() }

// declaredIn reports whether an object is declared below a node.
func declaredIn(o types.Object, around ast.Node) bool {
	return o != nil && around.Pos() <= o.Pos() && o.Pos() < around.End()
}

func isInteger(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

var (
	// secretMade matches names of functions that make secrets, and of what they make.
	secretMade = regex.Lazy(`(?i)^(new|gen|generate|create|make|random|rand|issue)_?\w*` +
		`(token|secret|password|passwd|nonce|salt|otp|session_?id|api_?key|csrf)|` +
		`^(\w*_)?(token|secret|password|passwd|salt|otp|session_?id|api_?key|csrf\w*)$|` +
		`(Token|Secret|Password|SessionI[Dd]|A[Pp][Ii]Key|Otp|OTP)$`)
	passwordNamed = regex.Lazy(`(?i)passw(or)?d|\bpwd`)
)

func insecureRandom(f *goFunction) {
	visit(f.Body, func(call *ast.CallExpr) {
		if name := f.callee(call); !strings.HasPrefix(name, "math/rand.") && !strings.HasPrefix(name, "math/rand/v2.") &&
			!strings.HasPrefix(name, "(*math/rand.Rand).") && !strings.HasPrefix(name, "(*math/rand/v2.Rand).") {
			return
		}
		secret := secretMade().MatchString(f.Name.Name)
		for around := range f.above(call) {
			if assign, ok := around.(*ast.AssignStmt); ok {
				for _, to := range assign.Lhs {
					if o := f.root(to); o != nil {
						secret = secret || secretMade().MatchString(o.Name())
					}
				}
			}
		}
		if secret {
			f.Reportf(call.Pos(), "secret made of insecure random numbers")
		}
	})
}

func weakPasswordHash(f *goFunction) {
	visit(f.Body, func(call *ast.CallExpr) {
		switch f.callee(call) {
		case "crypto/md5.Sum", "crypto/sha1.Sum", "crypto/sha256.Sum256", "crypto/sha512.Sum512", "crypto/md5.New", "crypto/sha1.New",
			"crypto/sha256.New", "crypto/sha512.New":
		default:
			return
		}
		named := passwordNamed().MatchString(f.Name.Name)
		for _, arg := range call.Args {
			named = named || has(arg, func(n *ast.Ident) bool { return passwordNamed().MatchString(n.Name) })
		}
		if _, passed := f.parents[call].(*ast.CallExpr); named && !passed { // hmac.New and pbkdf2.Key take a hash
			f.Reportf(call.Pos(), "password hashed with a fast hash")
		}
	})
}

// integerOverflow finds numbers of any size that become smaller ones.
func integerOverflow(f *goFunction) {
	visit(f.Body, func(call *ast.CallExpr) {
		if len(call.Args) != 1 || !f.TypesInfo.Types[call.Fun].IsType() {
			return
		}
		to, ok := f.TypesInfo.TypeOf(call).Underlying().(*types.Basic)
		o := f.object(call.Args[0])
		if !ok || o == nil || !slices.Contains([]types.BasicKind{types.Int8, types.Int16, types.Int32, types.Uint8, types.Uint16,
			types.Uint32}, to.Kind()) {
			return
		}
		parsed := has(f.Body, func(a *ast.AssignStmt) bool {
			if len(a.Rhs) != 1 || len(a.Lhs) != 2 || f.object(a.Lhs[0]) != o {
				return false
			}
			parse, _ := a.Rhs[0].(*ast.CallExpr)
			switch f.callee(a.Rhs[0]) {
			case "strconv.Atoi":
				return true
			case "strconv.ParseInt", "strconv.ParseUint":
				size := f.TypesInfo.Types[parse.Args[2]].Value
				return size != nil && slices.Contains([]string{"0", "64"}, size.ExactString())
			}
			return false
		})
		compared := slices.ContainsFunc(f.uses[o], func(n *ast.Ident) bool {
			b, ok := f.parents[n].(*ast.BinaryExpr)
			return ok && slices.Contains([]gotoken.Token{gotoken.LSS, gotoken.GTR, gotoken.LEQ, gotoken.GEQ}, b.Op)
		})
		if parsed && !compared {
			f.Reportf(call.Pos(), "integer overflow: a number of any size becomes %s", to.Name())
		}
	})
}

// namedTime matches names of numbers that count some unit of time.
var namedTime = regex.Lazy(`(?i)(sec|seconds|secs|min|mins|minutes|hours|millis|ms|timeout|delay|interval|wait|ttl|period)$`)

func durationWithoutUnit(f *goFunction) {
	visit(f.Body, func(call *ast.CallExpr) {
		at := 0
		switch f.callee(call) {
		case "time.Sleep", "time.After", "time.NewTimer", "time.NewTicker", "time.Tick", "time.AfterFunc":
		case "context.WithTimeout":
			at = 1
		default:
			return
		}
		if len(call.Args) <= at {
			return
		}
		arg := ast.Unparen(call.Args[at])
		if v := f.TypesInfo.Types[arg].Value; v != nil {
			n, exact := constant.Int64Val(constant.ToInt(v))
			if _, literal := arg.(*ast.BasicLit); exact && 0 < n && n < 1000 && !(literal && n <= 120 &&
				f.callee(call) == "time.Sleep") { // SA1004 has those
				f.Reportf(arg.Pos(), "duration without a unit: %d nanoseconds", n)
			}
			return
		}
		convert, ok := arg.(*ast.CallExpr)
		if !ok || len(convert.Args) != 1 || !f.TypesInfo.Types[convert.Fun].IsType() {
			return
		}
		number := ast.Unparen(convert.Args[0])
		o, field := f.object(number), false
		if s, ok := number.(*ast.SelectorExpr); ok {
			o, field = f.TypesInfo.ObjectOf(s.Sel), true
		}
		v, ok := o.(*types.Var)
		if !ok || !namedTime().MatchString(v.Name()) || !field && declaredIn(v, f.Body) {
			return
		}
		if basic, ok := v.Type().(*types.Basic); ok && slices.Contains([]types.BasicKind{types.Int, types.Int32, types.Uint,
			types.Uint32}, basic.Kind()) {
			f.Reportf(arg.Pos(), "duration without a unit: %s counts nanoseconds here", v.Name())
		}
	})
}

// typedNil finds pointers that are nil unless something is assigned, returned as errors.
func typedNil(f *goFunction) {
	visit(f.Body, func(ret *ast.ReturnStmt) {
		results := f.results(ret)
		if results == nil || results.Len() != len(ret.Results) {
			return
		}
		for i, e := range ret.Results {
			o := f.object(e)
			if o == nil || !isError(results.At(i).Type()) {
				continue
			}
			if _, pointer := o.Type().(*types.Pointer); !pointer {
				continue
			}
			nilFirst := has(f.Body, func(spec *ast.ValueSpec) bool {
				return len(spec.Values) == 0 && slices.ContainsFunc(spec.Names, func(n *ast.Ident) bool { return f.TypesInfo.Defs[n] == o })
			})
			if _, around := f.parents[f.parents[ret]].(*ast.IfStmt); nilFirst && !around {
				f.Reportf(ret.Pos(), "nil pointer returned as an error that is not nil")
			}
		}
	})
}

// results returns the results of the function or literal that a statement returns from.
func (f *goFunction) results(ret *ast.ReturnStmt) *types.Tuple {
	for n := f.parents[ret]; n != nil; n = f.parents[n] {
		if literal, ok := n.(*ast.FuncLit); ok {
			if s, ok := f.TypesInfo.TypeOf(literal).(*types.Signature); ok {
				return s.Results()
			}
			return nil
		}
	}
	if fn, ok := f.TypesInfo.Defs[f.Name].(*types.Func); ok {
		return fn.Signature().Results()
	}
	return nil
}

func timeEquality(f *goFunction) {
	visit(f.Body, func(b *ast.BinaryExpr) {
		if b.Op != gotoken.EQL && b.Op != gotoken.NEQ || !f.is(b.X, "time.Time") || !f.is(b.Y, "time.Time") {
			return
		}
		for _, side := range []ast.Expr{b.X, b.Y} {
			if _, zero := ast.Unparen(side).(*ast.CompositeLit); zero {
				return
			}
		}
		f.Reportf(b.Pos(), "times compared with %s", b.Op)
	})
}

func goIndexPastEnd(f *goFunction) {
	lengthOf := func(e ast.Expr) types.Object {
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return nil
		}
		if b, ok := f.object(call.Fun).(*types.Builtin); !ok || b.Name() != "len" {
			return nil
		}
		return f.object(call.Args[0])
	}
	visit(f.Body, func(n *ast.IndexExpr) {
		if o := f.object(n.X); o != nil && lengthOf(n.Index) == o {
			if _, isMap := o.Type().Underlying().(*types.Map); !isMap {
				f.Reportf(n.Pos(), "index past the end: %s[len(%[1]s)]", o.Name())
			}
		}
	})
	visit(f.Body, func(loop *ast.ForStmt) {
		cond, ok := loop.Cond.(*ast.BinaryExpr)
		if !ok || cond.Op != gotoken.LEQ {
			return
		}
		i, list := f.object(cond.X), lengthOf(cond.Y)
		if i == nil || list == nil {
			return
		}
		indexed := has(loop.Body, func(n *ast.IndexExpr) bool { return f.object(n.X) == list && f.object(n.Index) == i })
		compared := has(loop.Body, func(b *ast.BinaryExpr) bool {
			return b.Op.Precedence() == cond.Op.Precedence() && (f.object(b.X) == i || f.object(b.Y) == i)
		})
		if indexed && !compared {
			f.Reportf(cond.Pos(), "index past the end: %s goes up to len(%s)", i.Name(), list.Name())
		}
	})
}

// wrongError finds an error that was compared with nil, where another one is returned.
func wrongError(f *goFunction) {
	visit(f.Body, func(s *ast.IfStmt) {
		cond, ok := s.Cond.(*ast.BinaryExpr)
		if !ok || cond.Op != gotoken.NEQ || !f.TypesInfo.Types[cond.Y].IsNil() {
			return
		}
		compared := f.object(cond.X)
		if compared == nil || !isError(compared.Type()) || len(s.Body.List) == 0 ||
			slices.ContainsFunc(f.uses[compared], func(n *ast.Ident) bool { return inside(n, s.Body) }) {
			return
		}
		ret, ok := s.Body.List[len(s.Body.List)-1].(*ast.ReturnStmt)
		if !ok {
			return
		}
		visit(ret, func(n *ast.Ident) {
			o := f.TypesInfo.Uses[n]
			if v, ok := o.(*types.Var); !ok || v.IsField() || !isError(o.Type()) || !declaredIn(o, f.Body) || declaredIn(o, s) {
				return
			}
			settled := has(f.Body, func(before *ast.IfStmt) bool { // it is nil here
				other, ok := before.Cond.(*ast.BinaryExpr)
				return ok && before.End() < s.Pos() && other.Op == gotoken.NEQ && f.object(other.X) == o && f.TypesInfo.Types[other.Y].IsNil() &&
					leaves(before.Body.List)
			})
			if settled && f.parents[n] != nil {
				f.Reportf(n.Pos(), "%s is returned where %s was compared with nil", o.Name(), compared.Name())
			}
		})
	})
}

func integerDivision(f *goFunction) {
	whole := func(e ast.Expr) bool {
		d, ok := ast.Unparen(e).(*ast.BinaryExpr)
		if !ok || d.Op != gotoken.QUO || f.TypesInfo.Types[d].Value != nil || f.TypesInfo.Types[d.Y].Value != nil {
			return false
		}
		t := f.TypesInfo.TypeOf(d)
		return isInteger(t) && !f.is(d, "time.Duration")
	}
	visit(f.Body, func(b *ast.BinaryExpr) {
		if b.Op != gotoken.MUL || !whole(b.X) {
			return
		}
		if v := f.TypesInfo.Types[b.Y].Value; v != nil && constant.Compare(v, gotoken.EQL, constant.MakeInt64(100)) {
			f.Reportf(b.Pos(), "integer division before it is multiplied")
		}
	})
	visit(f.Body, func(call *ast.CallExpr) {
		if len(call.Args) == 1 && f.TypesInfo.Types[call.Fun].IsType() && whole(call.Args[0]) {
			if b, ok := f.TypesInfo.TypeOf(call).Underlying().(*types.Basic); ok && b.Info()&types.IsFloat != 0 {
				f.Reportf(call.Pos(), "integer division before it is converted to %s", b.Name())
			}
		}
	})
}
