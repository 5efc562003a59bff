package scan

import (
	"go/ast"
	"go/constant"
	gotoken "go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// goRequestRules returns rules that follow what a request of somebody else says through one function.
func goRequestRules() []goCheck {
	return []goCheck{
		goRule("go/path-traversal", "security", "high", 0.85,
			"Open it below an os.Root, or refuse what filepath.IsLocal does.", func(f *goFunction) { f.reaches("go/path-traversal") }),
		goRule("go/ssrf", "security", "high", 0.85,
			"Choose the host from a list: the request says which server is asked.", func(f *goFunction) { f.reaches("go/ssrf") }),
		goRule("go/open-redirect", "security", "medium", 0.85,
			"Redirect within the site, or to hosts of a list.", func(f *goFunction) { f.reaches("go/open-redirect") }),
		goRule("go/xss", "security", "high", 0.85,
			"Use html/template, which escapes: the request is written as HTML.", crossSiteScripting),
		goRule("go/missing-return", "logic-error", "high", 0.85,
			"Return behind the error: what follows writes a second answer.", missingReturn),
	}
}

// requested are methods that return a part of a request as its client sent it.
var requested = map[string]bool{
	"(*net/http.Request).FormValue": true, "(*net/http.Request).PostFormValue": true, "(*net/http.Request).PathValue": true,
	"(net/url.Values).Get": true, "github.com/go-chi/chi/v5.URLParam": true, "github.com/go-chi/chi.URLParam": true,
	"(*github.com/gin-gonic/gin.Context).Query": true, "(*github.com/gin-gonic/gin.Context).Param": true,
	"(*github.com/gin-gonic/gin.Context).PostForm": true, "(*github.com/gin-gonic/gin.Context).DefaultQuery": true,
	"(github.com/labstack/echo/v4.Context).QueryParam": true, "(github.com/labstack/echo/v4.Context).Param": true,
	"(github.com/labstack/echo/v4.Context).FormValue": true,
}

// passing are functions whose result has what they are given, as it is for what matters here.
var passing = regex.Lazy(`^(path|path/filepath)\.(Join|Clean|FromSlash|ToSlash)$|^fmt\.Sprint(f|ln)?$|` +
	`^strings\.(Trim\w*|ToLower|ToUpper|Replace|ReplaceAll|Join|TrimPrefix|TrimSuffix)$|^net/url\.PathUnescape$`)

// checking matches names of functions that are asked about a value before it is used.
var checking = regex.Lazy(`(?i)valid|islocal|hasprefix|hassuffix|contains|match|allow|safe|check|sanit|secure|verify|` +
	`exists|index|rel$|parse|fullmatch`)

// sinks are functions that must not get the argument at an index from a request, by rule.
var sinks = map[string]map[string]int{
	"go/path-traversal": {
		"os.Open": 0, "os.OpenFile": 0, "os.ReadFile": 0, "os.WriteFile": 0, "os.Create": 0, "os.Remove": 0, "os.RemoveAll": 0, "os.Mkdir": 0,
		"os.MkdirAll": 0, "os.ReadDir": 0, "io/ioutil.ReadFile": 0, "io/ioutil.WriteFile": 0, "net/http.ServeFile": 2,
		"(*github.com/gin-gonic/gin.Context).File": 0,
	},
	"go/ssrf": {
		"net/http.Get": 0, "net/http.Head": 0, "net/http.Post": 0, "net/http.PostForm": 0, "net/http.NewRequest": 1,
		"net/http.NewRequestWithContext": 2, "(*net/http.Client).Get": 0, "(*net/http.Client).Post": 0, "(*net/http.Client).Head": 0,
	},
	"go/open-redirect": {"net/http.Redirect": 2},
}

var sinkMessages = map[string]string{
	"go/path-traversal": "path traversal: the request names the file",
	"go/ssrf":           "server-side request forgery: the request names the server",
	"go/open-redirect":  "open redirect: the request says where to",
}

// reaches finds parts of a request in arguments of the sinks of a rule.
func (f *goFunction) reaches(rule string) {
	var from map[types.Object][]types.Object
	visit(f.Body, func(call *ast.CallExpr) {
		at, is := sinks[rule][f.callee(call)]
		if !is || len(call.Args) <= at {
			return
		}
		if from == nil {
			from = f.fromRequest()
		}
		arg := call.Args[at]
		if rule != "go/path-traversal" { // what stands in front names the server
			arg = f.first(arg)
		}
		if f.isRequested(arg, from) {
			f.Reportf(call.Pos(), "%s", sinkMessages[rule])
		}
	})
}

// first returns the beginning of a text that is put together.
func (f *goFunction) first(e ast.Expr) ast.Expr {
	for {
		e = ast.Unparen(e)
		if b, ok := e.(*ast.BinaryExpr); ok && b.Op == gotoken.ADD {
			e = b.X
			continue
		}
		if call, ok := e.(*ast.CallExpr); ok && f.callee(call) == "fmt.Sprintf" && len(call.Args) > 1 {
			if v := f.TypesInfo.Types[call.Args[0]].Value; v != nil && v.Kind() == constant.String &&
				strings.HasPrefix(constant.StringVal(v), "%") {
				e = call.Args[1]
				continue
			}
			return call.Args[0]
		}
		return e
	}
}

// fromRequest returns the variables that hold a part of a request, each with the variables it is made of.
func (f *goFunction) fromRequest() map[types.Object][]types.Object {
	from := map[types.Object][]types.Object{}
	for range 3 { // a variable may be made of one that is assigned below it in a loop
		visit(f.Body, func(a *ast.AssignStmt) {
			for i, to := range a.Lhs {
				o := f.object(to)
				if len(a.Lhs) != len(a.Rhs) || o == nil || from[o] != nil || !f.isRequested(a.Rhs[i], from) {
					continue
				}
				from[o] = []types.Object{o}
				visit(a.Rhs[i], func(n *ast.Ident) { from[o] = append(from[o], from[f.TypesInfo.Uses[n]]...) })
			}
		})
	}
	return from
}

// isRequested reports whether an expression has a part of a request in it that nothing has checked.
func (f *goFunction) isRequested(e ast.Expr, from map[types.Object][]types.Object) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		chain := from[f.object(x)]
		return chain != nil && !slices.ContainsFunc(chain, f.isChecked)
	case *ast.BinaryExpr:
		return x.Op == gotoken.ADD && (f.isRequested(x.X, from) || f.isRequested(x.Y, from))
	case *ast.SelectorExpr: // an entry of an archive
		switch f.TypesInfo.TypeOf(x.X).String() {
		case "*archive/zip.File", "*archive/tar.Header", "archive/zip.FileHeader":
			return x.Sel.Name == "Name" && !f.isCheckedPath()
		}
	case *ast.IndexExpr:
		return f.callee(x.X) == "github.com/gorilla/mux.Vars"
	case *ast.CallExpr:
		name := f.callee(x)
		if requested[name] {
			return true
		}
		if (name == "path/filepath.Clean" || name == "path.Clean") && len(x.Args) == 1 {
			if b, ok := ast.Unparen(x.Args[0]).(*ast.BinaryExpr); ok {
				if v := f.TypesInfo.Types[b.X].Value; v != nil && v.Kind() == constant.String && constant.StringVal(v) == "/" {
					return false // nothing is above the root
				}
			}
		}
		if passing().MatchString(name) || f.TypesInfo.Types[x.Fun].IsType() {
			return slices.ContainsFunc(x.Args, func(arg ast.Expr) bool { return f.isRequested(arg, from) })
		}
	}
	return false
}

// isChecked reports whether a variable is compared, looked up, or given to a function that may refuse it.
func (f *goFunction) isChecked(o types.Object) bool {
	return slices.ContainsFunc(f.uses[o], func(use *ast.Ident) bool {
		switch n := f.parents[use].(type) {
		case *ast.BinaryExpr:
			other := n.X
			if n.X == ast.Expr(use) {
				other = n.Y
			}
			v := f.TypesInfo.Types[other].Value
			empty := v != nil && v.Kind() == constant.String && constant.StringVal(v) == ""
			return (n.Op == gotoken.EQL || n.Op == gotoken.NEQ) && !empty
		case *ast.SwitchStmt:
			return true
		case *ast.IndexExpr:
			return n.Index == ast.Expr(use)
		case *ast.CallExpr:
			name := f.callee(n)
			return checking().MatchString(name[strings.LastIndexByte(name, '.')+1:])
		}
		return false
	})
}

// isCheckedPath reports whether the function looks at paths before it uses them.
func (f *goFunction) isCheckedPath() bool {
	return has(f.Body, func(call *ast.CallExpr) bool {
		name := f.callee(call)
		return name != "" && checking().MatchString(name[strings.LastIndexByte(name, '.')+1:])
	})
}

var markup = regex.Lazy(`<[a-zA-Z!/]`)

func crossSiteScripting(f *goFunction) {
	var from map[types.Object][]types.Object
	visit(f.Body, func(call *ast.CallExpr) {
		var parts []ast.Expr
		switch name := f.callee(call); name {
		case "fmt.Fprintf", "fmt.Fprint", "fmt.Fprintln", "io.WriteString":
			if len(call.Args) < 2 || !f.is(call.Args[0], "net/http.ResponseWriter") {
				return
			}
			parts = call.Args[1:]
		case "(net/http.ResponseWriter).Write":
			parts = call.Args
		default:
			return
		}
		if from == nil {
			from = f.fromRequest()
		}
		isHTML := has(call, func(n *ast.BasicLit) bool {
			return n.Kind == gotoken.STRING && markup().MatchString(n.Value)
		})
		if isHTML && slices.ContainsFunc(parts, func(e ast.Expr) bool { return f.isRequested(e, from) }) {
			f.Reportf(call.Pos(), "cross-site scripting: the request is written as HTML")
		}
	})
}

// missingReturn finds errors sent to a client behind which the handler goes on to answer.
func missingReturn(f *goFunction) {
	visit(f.Body, func(s *ast.IfStmt) {
		if s.Else != nil || len(s.Body.List) == 0 {
			return
		}
		last := s.Body.List[len(s.Body.List)-1]
		call, ok := last.(*ast.ExprStmt)
		if !ok || !slices.Contains([]string{"net/http.Error", "net/http.NotFound", "net/http.Redirect"}, f.callee(call)) {
			return
		}
		to := f.object(call.X.(*ast.CallExpr).Args[0])
		rest := f.rest(s)
		if to == nil || len(rest) == 0 {
			return
		}
		if _, returns := rest[0].(*ast.ReturnStmt); returns {
			return
		}
		if slices.ContainsFunc(rest, func(n ast.Stmt) bool {
			return has(n, func(use *ast.Ident) bool { return f.TypesInfo.Uses[use] == to })
		}) {
			f.Reportf(call.Pos(), "no return behind an error that is sent to the client")
		}
	})
}
