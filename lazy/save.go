package lazy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// saveToName is the parameter of tools.call with the file for the result.
const saveToName = "saveTo"

// Files writes results of calls to new files of the workspace. Its errors are for the caller.
type Files interface {
	// Check returns nil if a file may be written: none has the path yet. It changes nothing.
	Check(path string) error

	// Write writes a file as a whole, or not at all. It returns the path relative to the workspace.
	Write(path string, text []byte) (name string, err error)

	// Usable reports whether there is a workspace.
	Usable() bool
}

// Saved is the answer of a call whose result is in a file.
type Saved struct {
	Path     string `json:"path"` // relative to the workspace
	Bytes    int    `json:"bytes"`
	MimeType string `json:"mimeType,omitempty"`
	Items    int    `json:"items,omitempty"` // of a list
	Head     string `json:"head,omitempty"`  // the beginning of JSON or text
}

// maxHead limits [Saved.Head], in characters.
const maxHead = 240

// saving is tools.call with saveTo, as rights see it. Every caller has tools.call itself, because
// rights apply to the action that it calls; a file needs rights to change something.
var saving = &toolfold.Action{
	Name: "call", Legacy: toolfold.Was("tool_call"), Effect: toolfold.Adds, Grants: (*toolfold.Action).Matches,
	Family: &toolfold.Family{Name: Family.Name},
}

// Saving returns why rights do not include files for results; empty if they do.
func Saving(rights *toolfold.Rights) (refused string) { return rights.Reason(saving) }

// withoutFiles returns the family without the parameter for files.
func withoutFiles(f toolfold.Family) toolfold.Family {
	f.Actions = slices.Clone(f.Actions)
	for i, a := range f.Actions {
		if a.WritesFiles() {
			call := *a
			call.Doc, call.Run, call.Writes = "", toolfold.Method((*Service).call), toolfold.Handler{}
			call.Optional = slices.DeleteFunc(slices.Clone(a.Optional), func(field toolfold.Field) bool {
				return field.Param().Name == saveToName
			})
			f.Actions[i] = &call
		}
	}
	return f
}

// Writes returns the file that a call would write.
func (s *Service) Writes(_ context.Context, in struct {
	SaveTo string `json:"saveTo"`
}) ([]string, error) {
	if in.SaveTo == "" {
		return nil, nil
	}
	return []string{in.SaveTo}, nil
}

// callSaving forwards to another action. If its result is to be saved, it first checks that the file
// can be written.
func (s *Service) callSaving(ctx context.Context, in SavingIn) (callctx.Forward, error) {
	forward, _ := s.call(ctx, in.CallIn)
	if in.SaveTo == "" {
		return forward, nil
	}
	refused := s.discovery.View(ctx).options.Unsaved
	if refused == "" && toolfold.OriginOf(ctx).OnlyReads {
		refused = "you may only read"
	}
	if refused != "" {
		return forward, toolfold.Errorf(toolfold.PermissionDenied, "%s writes a file, which is not permitted here: %s; nothing was called",
			saveToName, refused).WithHint("leave %s out, and ask for parts of the result with %s or limit", saveToName, callctx.ArgFields)
	}
	if err := s.files.Check(in.SaveTo); err != nil {
		return forward, err
	}
	forward.Save = func(ctx context.Context, result callctx.Whole) (any, error) { return s.save(ctx, in.SaveTo, result) }
	return forward, nil
}

// call forwards to another action.
func (s *Service) call(_ context.Context, in CallIn) (callctx.Forward, error) {
	return callctx.Forward{Name: in.Name, Arguments: in.Arguments}, nil
}

func (s *Service) save(ctx context.Context, path string, result callctx.Whole) (Saved, error) {
	if ctx.Err() != nil {
		return Saved{}, errors.New("the call was cancelled")
	}
	name, err := s.files.Write(path, result.Data)
	if err != nil {
		var refused *toolfold.Error
		if errors.As(err, &refused) {
			err = errors.New(refused.Message)
		}
		return Saved{}, err
	}
	saved := Saved{Path: name, Bytes: len(result.Data), MimeType: result.MimeType, Items: result.Items}
	if result.MimeType == callctx.TypeJSON || result.MimeType == callctx.TypeText {
		saved.Head = shorten.To(strings.ReplaceAll(string(result.Data[:min(len(result.Data), maxHead*4)]), "\n", " "), maxHead)
	}
	return saved, nil
}

// SaveUsage returns how the caller of ctx gets whole results into a file; empty if the caller may not
// write files.
func (d *Discovery) SaveUsage(ctx context.Context) string {
	view := d.View(ctx)
	if d.files == nil || !d.files.Usable() || view.caller == "" || view.options.Unsaved != "" {
		return ""
	}
	return fmt.Sprintf("%s with %s writes it whole to a file", view.caller, saveToName)
}
