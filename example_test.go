package toolfold_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// The vocabulary of a family: each name has one type and one text.
var (
	title = toolfold.String{Name: "title", Doc: "Title of the book.", MinLen: 1, MaxLen: 200}
	shelf = toolfold.String{Name: "shelf", Doc: "Where it stands.", Enum: []string{"read", "unread"}}
	owner = toolfold.Object{
		Name: "owner", Doc: "Whose it is.",
		Required: toolfold.Fields{toolfold.String{Name: "name", Doc: "Name."}},
		Optional: toolfold.Fields{toolfold.Strings("phones", "Phone numbers.")},
	}
	limit = toolfold.Int{Name: "limit", Doc: "Most books.", Min: 1, Max: 100}
)

var books = toolfold.Family{
	Name: "book", Summary: "Books on the shelves",
	Actions: []*toolfold.Action{{
		Name: "add", Summary: "Put a book on a shelf.", Words: "buy, acquire", Effect: toolfold.Adds,
		Legacy:   toolfold.Was("add_book", toolfold.Rename{Field: title, Was: "name"}),
		Required: toolfold.Fields{title},
		Optional: toolfold.Fields{shelf.With(toolfold.Default("unread")), owner},
		Example:  `{"title": "Middlemarch", "owner": {"name": "Ada"}}`,
		Run:      toolfold.Method((*library).Add),
	}, {
		Name: "list", Summary: "List the books, a page at a time.", Effect: toolfold.Reads,
		Optional: toolfold.Fields{limit.With(toolfold.Default(20)), toolfold.Cursor},
		Example:  `{"limit": 10}`,
		Run:      toolfold.Method((*library).List),
	}, {
		Name: "burn", Summary: "Destroy a book.", Effect: toolfold.Deletes,
		Required: toolfold.Fields{title},
		Example:  `{"title": "Middlemarch"}`,
		Run:      toolfold.Method((*library).Burn),
	}},
}

type person struct {
	Name   string   `json:"name" doc:"Name."`
	Phones []string `json:"phones,omitempty" doc:"Phone numbers."`
}

type book struct {
	Title string  `json:"title" doc:"Title of the book."`
	Shelf string  `json:"shelf" doc:"Where it stands."`
	Owner *person `json:"owner,omitempty" doc:"Whose it is."`
}

type addIn struct {
	Title string  `json:"title"`
	Shelf string  `json:"shelf"`
	Owner *person `json:"owner"`
}

type listIn struct{ toolfold.Page }

type listOut struct {
	Books []book `json:"books" doc:"By title."`
	toolfold.Paged
}

type titleIn struct {
	Title string `json:"title"`
}

type burnOut struct {
	Left int `json:"left" doc:"Books that are left."`
}

// library is the service of the family. A real service would lock its books.
type library struct{ books []book }

func (l *library) Add(_ context.Context, in addIn) (book, error) {
	b := book(in)
	l.books = append(l.books, b)
	slices.SortFunc(l.books, func(a, b book) int { return strings.Compare(a.Title, b.Title) })
	return b, nil
}

func (l *library) List(_ context.Context, in listIn) (listOut, error) {
	after, err := in.After("book.list")
	if err != nil {
		return listOut{}, err
	}
	rest := slices.DeleteFunc(slices.Clone(l.books), func(b book) bool { return b.Title <= after })
	page, paged := toolfold.CutPage(rest, in.Limit, func(last book) string { return toolfold.CursorOf(last.Title) })
	return listOut{Books: append([]book{}, page...), Paged: paged}, nil
}

func (l *library) Burn(_ context.Context, in titleIn) (burnOut, error) {
	i := slices.IndexFunc(l.books, func(b book) bool { return b.Title == in.Title })
	if i < 0 {
		return burnOut{}, toolfold.Errorf("BOOK_NOT_FOUND", "there is no book %q", in.Title).WithHint("book.list shows those there are")
	}
	l.books = slices.Delete(l.books, i, i+1)
	return burnOut{Left: len(l.books)}, nil
}

// mounted binds the family to a library with two books.
func mounted() *toolfold.Family {
	family, err := toolfold.Mount(books, func(context.Context) (*library, error) {
		return &library{[]book{{Title: "Emma", Shelf: "read"}, {Title: "Walden", Shelf: "unread"}}}, nil
	})
	if err != nil {
		panic(err)
	}
	return family
}

// call prints the answer to a call of an action.
func call(name, args string) {
	fmt.Println(string(toolfoldtest.Runner(mounted()).Call(context.Background(), name, json.RawMessage(args)).Content))
}

// refused prints the problems of a call's arguments.
func refused(name, args string) {
	answer := toolfoldtest.Runner(mounted()).Call(context.Background(), name, json.RawMessage(args))
	for _, p := range answer.Err.Problems {
		fmt.Println(p.Path, p.Kind)
	}
	fmt.Println(answer.Err.Usage)
}

// list prints the tools that a server lists.
func list(o serve.Options) {
	server, err := serve.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	var out bytes.Buffer
	request := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
	if err := server.Stdio(context.Background(), request, &out); err != nil {
		fmt.Println(err)
	}
	var answer struct {
		Result struct {
			Tools []struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		fmt.Println(err)
	}
	for _, tool := range answer.Result.Tools {
		if !strings.HasPrefix(tool.Name, "tool") { // the discovery tools
			fmt.Println(tool.Name+":", tool.Description)
		}
	}
}

// A family is one tool, which names its actions and their required parameters.
func ExampleFamily() {
	list(serve.Options{Families: []*toolfold.Family{mounted()}})
	// Output:
	// book: Books on the shelves: add|burn(title) list
}

// In mode legacy each action with a legacy name is a tool, as before.
func ExampleWas() {
	list(serve.Options{Families: []*toolfold.Family{mounted()}, Mode: "legacy"})
	call("add_book", `{"name": "Ulysses"}`)
	// Output:
	// add_book: Put a book on a shelf.
	// {"title":"Ulysses","shelf":"unread"}
}

// ReadOnly leaves out actions that change something. Allow and Deny have patterns for actions.
func Example_rights() {
	families := []*toolfold.Family{mounted()}
	list(serve.Options{Families: families, ReadOnly: true})
	list(serve.Options{Families: families, Deny: []string{"*.burn"}})
	// Output:
	// book: Books on the shelves: list
	// book: Books on the shelves: add(title) list
}

// Nested objects are checked like all parameters. The error lists all problems, and shows how to
// call the action.
func ExampleObject() {
	call("book.add", `{"title": "Ulysses", "owner": {"name": "Ada", "phones": ["1", "2"]}}`)
	refused("book.add", `{"title": "Ulysses", "owner": {"phones": [1]}, "shelf": "lost"}`)
	// Output:
	// {"title":"Ulysses","shelf":"unread","owner":{"name":"Ada","phones":["1","2"]}}
	// /owner/name missing
	// /owner/phones/0 type
	// /shelf enum
	// book.add(title: string, shelf?: read|unread, owner?: object)
}

// A required parameter that is missing, and one that is misspelt.
func ExampleProblem() {
	refused("book.burn", `{"titel": "Emma"}`)
	// Output:
	// /titel unknown
	// /title missing
	// book.burn(title: string)
}

// An error of the family names the problem and the next step.
func ExampleErrorf() {
	call("book.burn", `{"title": "Faust"}`)
	// Output:
	// {"error":{"code":"BOOK_NOT_FOUND","message":"there is no book \"Faust\"","hint":"book.list shows those there are"}}
}

// A list is split into pages, linked by cursors.
func ExampleCutPage() {
	runner := toolfoldtest.Runner(mounted())
	in := listIn{toolfold.Page{Limit: 1}}
	for {
		out, err := toolfold.Do[listOut](context.Background(), runner, "book.list", in)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(out.Books[0].Title)
		if !out.HasMore {
			return
		}
		in.Cursor = out.NextCursor
	}
	// Output:
	// Emma
	// Walden
}

// Callers may ask for the result fields that they need.
func ExamplePaged() {
	call("book.list", `{"include_fields": ["books.title"]}`)
	// Output:
	// {"books":[{"title":"Emma"},{"title":"Walden"}]}
}

// A method calls actions of other families by name. The calls have the rights of the call that it runs in.
func ExampleDo() {
	club := toolfold.Family{
		Name: "club", Summary: "A club of readers",
		Actions: []*toolfold.Action{{
			Name: "swap", Summary: "Burn a book and add another.", Effect: toolfold.Deletes,
			Required: toolfold.Fields{title}, Example: `{"title": "Ulysses"}`, Run: toolfold.Method(swap),
		}},
	}
	family, err := toolfold.Mount(club, func(context.Context) (reader, error) { return reader{}, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	runner := toolfoldtest.Runner(mounted(), family)
	fmt.Println(string(runner.Call(context.Background(), "club.swap", json.RawMessage(`{"title": "Ulysses"}`)).Content))
	// Output:
	// {"title":"Ulysses","shelf":"unread"}
}

type reader struct{}

func swap(_ reader, ctx context.Context, in titleIn) (book, error) {
	if _, err := toolfold.Do[burnOut](ctx, nil, "book.burn", titleIn{Title: "Emma"}); err != nil {
		return book{}, err
	}
	return toolfold.Do[book](ctx, nil, "book.add", in)
}

// A service is opened by the first call that needs it.
func ExampleMount() {
	family, err := toolfold.Mount(books, func(context.Context) (*library, error) {
		fmt.Println("opening")
		return &library{}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	list(serve.Options{Families: []*toolfold.Family{family}})
	fmt.Println(toolfoldtest.Runner(family).Call(context.Background(), "book.list", nil).IsError())
	// Output:
	// book: Books on the shelves: add|burn(title) list
	// opening
	// false
}

// An action may ask the model of its client and report progress. A test answers for the model.
func ExampleSample() {
	blurb := toolfold.Family{
		Name: "blurb", Summary: "Blurbs of books",
		Actions: []*toolfold.Action{{
			Name: "write", Summary: "Write the blurb of a book.", Effect: toolfold.Runs,
			Required: toolfold.Fields{title}, Example: `{"title": "Emma"}`, Run: toolfold.Method(write),
		}},
	}
	family, err := toolfold.Mount(blurb, func(context.Context) (writer, error) { return writer{}, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := toolfoldtest.WithModel(context.Background(), func(p toolfold.Prompt) (toolfold.Completion, error) {
		return toolfold.Completion{Text: "(" + p.Text + ")"}, nil
	})
	runner := toolfoldtest.Runner(family)
	fmt.Println(string(runner.Call(ctx, "blurb.write", json.RawMessage(`{"title": "Emma"}`)).Content))
	fmt.Println(runner.Call(context.Background(), "blurb.write", json.RawMessage(`{"title": "Emma"}`)).Err.Message)
	// Output:
	// {"blurb":"(Praise Emma in one sentence.)"}
	// the connected client lends no model: it does not declare sampling
}

type writer struct{}

type blurbOut struct {
	Blurb string `json:"blurb" doc:"The blurb."`
}

func write(_ writer, ctx context.Context, in titleIn) (blurbOut, error) {
	toolfold.Report(ctx, toolfold.Progress{Done: 0, Total: 1, Message: "asking"})
	done, err := toolfold.Sample(ctx, toolfold.Prompt{Text: "Praise " + in.Title + " in one sentence."})
	return blurbOut{done.Text}, err
}

// A tool with a schema from elsewhere is served like any other.
func ExampleExternal() {
	family, err := toolfold.External{
		Name: "weather", Description: "Tell the weather of a city.", Effect: toolfold.Reads,
		InputSchema: json.RawMessage(`{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}`),
		Run: func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"sky": "blue", "asked": ` + string(args) + `}`), nil
		},
	}.Family()
	if err != nil {
		fmt.Println(err)
		return
	}
	runner := toolfoldtest.Runner(family)
	fmt.Println(string(runner.Call(context.Background(), "weather", json.RawMessage(`{"city": "Oslo"}`)).Content))
	fmt.Println(runner.Call(context.Background(), "weather", json.RawMessage(`{}`)).Err.Message)
	// Output:
	// {"sky":"blue","asked":{"city":"Oslo"}}
	// weather: city is missing
}

// Find is part of every server. It returns actions and how to call them.
func Example_find() {
	found := find(mounted(), "buy a novel")
	fmt.Println(found[0].Name)
	fmt.Println(found[0].Usage)
	// Output:
	// book.add
	// book(action: 'add', params: {title: string, shelf?: read|unread, owner?: object})
}

// Only find uses Words and Asks: clients do not see them.
func ExampleAction_asks() {
	family := books
	open := func(context.Context) (*library, error) { return &library{}, nil }
	plain, err := toolfold.Mount(family, open)
	if err != nil {
		fmt.Println(err)
		return
	}
	const query = "what could I take to the beach"
	fmt.Println(find(plain, query)[0].Name) // not an action of the family

	family.Asks = `
# list
which books shall I take along to the beach
which novels have I not read yet
`
	withAsks, err := toolfold.Mount(family, open)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(find(withAsks, query)[0].Name)
	// Output:
	// tools.find
	// book.list
}

// found is an action in the results of find.
type found struct{ Name, Usage string }

// find searches the actions of a server with the family.
func find(family *toolfold.Family, query string) []found {
	server, err := serve.New(serve.Options{Families: []*toolfold.Family{family}})
	if err != nil {
		panic(err)
	}
	out, err := toolfold.Do[struct{ Results []found }](context.Background(), server.Caller(), "tools.find", map[string]string{"query": query})
	if err != nil {
		panic(err)
	}
	return out.Results
}
