package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/jsapi"
	"github.com/toolfold/toolfold/internal/run/script/js"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Check fails with a [*Failure] for scripts that can only fail: that cannot be
// parsed, or whose text has calls of unknown actions, or of known ones with
// arguments that they reject. It runs nothing.
func (r *Runner) Check(ctx context.Context, job Job) error {
	names, stored, err := r.names(ctx, job.Source)
	if err != nil {
		return err
	}
	if job.Name != "" && len(stored) > 0 {
		stored = append(stored, js.Stored+"."+job.Name)
	}
	return r.check(ctx, job, names, stored)
}

// check is Check for a script with these names of actions and of stored scripts.
func (r *Runner) check(ctx context.Context, job Job, names, stored []string) error {
	if strings.HasPrefix(strings.TrimSpace(job.Source), "```") {
		return fail(Invalid, "the source stands between marks of Markdown: send the JavaScript without ```")
	}
	references, err := js.Calls(job.Source)
	if err != nil { // a second reader, which is not the engine, has the last word
		err = js.Check(job.Source)
		if wrong, ok := errors.AsType[*js.SyntaxError](err); ok {
			f := fail(Invalid, "%s", wrong.Message)
			f.Line, f.Column, f.At = wrong.Line, wrong.Column, wrong.Code
			return f
		}
		return err
	}
	names = slices.Concat(names, stored)
	nameOf := js.Names(names)
	objects := map[string]bool{"": true} // of tools.call
	for _, name := range names {
		family, _, _ := strings.Cut(name, ".")
		objects[family] = true
	}
	for _, reference := range references {
		name, known := nameOf(reference)
		var f *Failure
		if !slices.Contains(stored, name) {
			f = r.refusal(ctx, job, reference, name)
		}
		if !known && objects[reference.Object] && !reference.Function {
			written := strings.TrimPrefix(reference.Object+"."+reference.Key, ".")
			f = fail(Invalid, "%s is no action that you may call", written)
			if reference.Object == "tools" && objects[reference.Key] {
				f.Message += fmt.Sprintf(": write %s.ACTION({…}) without tools", reference.Key)
			} else if near := suggest.Nearest(written, names); near != "" {
				f.Message += fmt.Sprintf("; did you mean %s?", near)
			}
		}
		if f == nil && known && reference.OfPromise != "" {
			f = fail(Invalid, "%s(…) is a promise, which has no %s: await it first", name, reference.OfPromise)
		}
		if f == nil && !known && reference.Free {
			f = undefined(reference, objects)
		}
		if f != nil {
			f.Line, f.Column = reference.Line, reference.Column
			f.At = strings.TrimSpace(strings.Split(job.Source, "\n")[reference.Line-1])
			return f
		}
	}
	return nil
}

// undefined returns the failure of a name that neither the script nor the language has, or nil for others and
// where the script seems to ask whether the name is there.
func undefined(reference js.Reference, families map[string]bool) *Failure {
	name := reference.Object
	if reference.Function {
		name = reference.Key
	}
	if families[name] || jsapi.Global(name) {
		return nil
	}
	f := fail(Invalid, "%s is not defined", name)
	if near := suggest.Nearest(name, slices.Sorted(maps.Keys(families))); near != "" {
		f.Message += fmt.Sprintf("; did you mean %s?", near)
	} else if reference.Caught {
		return nil
	}
	return f.hint(whatThereIs)
}

// refusal returns why a call in the text of a script can only be rejected, or nil.
// Arguments that only the run knows count as valid.
func (r *Runner) refusal(ctx context.Context, job Job, reference js.Reference, name string) *Failure {
	if name == "" {
		return nil
	}
	if job.ReadsOnly && !r.reads(name) {
		return fail(toolfold.PermissionDenied, "%s does more than read", name).hint("run the script with script.run")
	}
	args := ordered.Map{}
	literal := map[string]bool{}
	for _, a := range reference.Args {
		if literal["/"+a.Name] = a.Value != nil; a.Value == nil {
			a.Value = json.RawMessage("0") // null counts as not given
		}
		args.Set(a.Name, a.Value)
	}
	refused := r.Names.Refusal(ctx, name, ordered.MustJSON(args), "", func(path string) bool {
		if path == "" {
			return !reference.Complete
		}
		parameter := "/" + strings.SplitN(path, "/", 3)[1]
		written, found := literal[parameter]
		return !written && (found || !reference.Complete)
	})
	if refused == nil {
		return nil
	}
	var problems []string
	for _, p := range refused.Problems {
		problems = append(problems, p.Text())
	}
	f := fail(Invalid, "%s: %s", name, strings.Join(problems, "; "))
	if len(problems) == 0 {
		f.Code, f.Message = refused.Code, refused.Message
	}
	f.Hint = refused.Hint
	if refused.Usage != "" {
		f.Hint = "usage: " + refused.Usage
	}
	return f
}
