// Package toolfold is the language in which tools are declared. A server of
// families needs this package and serve:
//
//	var text = toolfold.String{Name: "text", Doc: "What to remember.", MinLen: 1, MaxLen: 500}
//
//	var notes = toolfold.Family{
//		Name: "note", Summary: "Short notes",
//		Actions: []*toolfold.Action{{
//			Name: "add", Summary: "Add a note.", Effect: toolfold.Adds,
//			Required: toolfold.Fields{text},
//			Example:  `{"text": "Deploys freeze on Friday."}`,
//			Run:      toolfold.Method((*Service).Add),
//		}},
//	}
//
//	type AddIn struct {
//		Text string `json:"text"`
//	}
//
//	type AddOut struct {
//		Count int `json:"count" doc:"How many notes there are."`
//	}
//
//	func (s *Service) Add(ctx context.Context, in AddIn) (AddOut, error)
//
//	func main() {
//		family, err := toolfold.Mount(notes, func(context.Context) (*Service, error) { return &Service{}, nil })
//		// …
//		server, err := serve.New(serve.Options{Name: "notes", Version: "1.0.0", Families: []*toolfold.Family{family}})
//		// …
//		err = server.Stdio(context.Background(), os.Stdin, os.Stdout)
//	}
//
// A [Family] is a noun with a list of actions, and becomes one tool of the server. Parameters are
// fields of the literal, such as [String] and [Object]. They have the names and types of the
// argument struct's members. Results are declared by their struct and its tags json and doc.
// [Family.Validate] reports every difference, at start-up and in the family's test, see package
// toolfoldtest.
//
// A zero bound of a field is no bound, and a nil Enum allows any value. An optional parameter that a call
// leaves out has its Default, or else leaves the zero value in the struct; use a pointer to tell zero from
// absent. An [Action] with a zero [Effect] or an empty Example is rejected. A method may be called by many
// goroutines at once.
//
// An error made by [Errorf] reaches the model unchanged. Any other error is logged, and the model
// gets the id of the log entry.
//
// A method reaches its caller through its context. [Report] reports progress to the
// caller, [Sample] asks the client's model, [OriginOf] returns the client and its rights. [Do]
// calls actions of other families.
package toolfold
