package design

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/design/api"
	"github.com/toolfold/toolfold/tools/design/architecture"
	"github.com/toolfold/toolfold/tools/design/component"
	"github.com/toolfold/toolfold/tools/design/schema"
)

// MaxBytes is the maximum size of a design with its documentation.
const MaxBytes = 256 << 10

// Draft is the status of every design.
const Draft = "draft"

// NotFound is the code for a design that does not exist.
const NotFound = "DESIGN_NOT_FOUND"

// Service runs the design actions. It is safe for concurrent use, and several
// may share a store.
type Service struct {
	store     Store
	workspace string
	now       func() time.Time
}

// New returns a service on a store. Files are written below the folder workspace; if it is empty,
// files cannot be written.
func New(store Store, workspace string, now func() time.Time) *Service {
	return &Service{store: store, workspace: workspace, now: now}
}

// API designs an API.
func (s *Service) API(ctx context.Context, in APIIn) (TextOut, error) {
	ending := strings.ToLower(path.Ext(in.OutputPath))
	content, problems := api.Generate(in.Model, in.Format, ending == ".yaml" || ending == ".yml")
	return s.text(ctx, Design{Type: "api", Format: in.Format, Name: in.Name, Content: content}, problems, in.Output)
}

// Schema designs a schema.
func (s *Service) Schema(ctx context.Context, in SchemaIn) (SchemaOut, error) {
	records, problems := recordsOf(in.Records)
	in.Model.Records = records
	var made schema.Text
	if len(problems) == 0 {
		made, problems = schema.Generate(in.Model, in.Format)
	}
	out, err := s.text(ctx, Design{Type: "schema", Format: in.Format, Name: in.Name, Content: made.Content}, problems, in.Output)
	return SchemaOut{TextOut: out, Notes: made.Notes}, err
}

// recordsOf decodes records, which are declared as any objects so that lists need not repeat the members of a record.
func recordsOf(list []json.RawMessage) (records []schema.Model, problems []toolfold.Problem) {
	for i, raw := range list {
		var object map[string]any
		if err := jsonx.Decode(raw, &object); err != nil {
			return nil, []toolfold.Problem{{Path: fmt.Sprintf("/records/%d", i), Kind: toolfold.ProblemType, Want: "object"}}
		}
		found := record.Param().Check(object)
		for _, p := range found {
			p.Path = fmt.Sprintf("/records/%d%s", i, p.Path)
			problems = append(problems, p)
		}
		var m schema.Model
		if err := json.Unmarshal(raw, &m); err != nil && len(found) == 0 {
			return nil, []toolfold.Problem{{Path: fmt.Sprintf("/records/%d", i), Kind: toolfold.ProblemType,
				Want: "number of at most 64 bits"}} // the rest was checked
		}
		records = append(records, m)
	}
	return records, problems
}

// text stores a design without documentation.
func (s *Service) text(ctx context.Context, d Design, problems []toolfold.Problem, out Output) (TextOut, error) {
	d, file, err := s.keep(ctx, d, problems, out)
	if err != nil {
		return TextOut{}, err
	}
	o := TextOut{DesignID: d.ID, Name: d.Name, Format: d.Format, CreatedAt: d.CreatedAt, File: file}
	if file == nil {
		o.Content, o.Truncated = part(d.Content, 0, maxShown)
	}
	return o, nil
}

// Component designs a component.
func (s *Service) Component(ctx context.Context, in ComponentIn) (ComponentOut, error) {
	code, problems := component.Generate(in.Model, in.Language)
	d := Design{Type: "component", Format: in.Language, Name: in.Name, Content: code.File()}
	d, file, err := s.keep(ctx, d, problems, in.Output)
	if err != nil {
		return ComponentOut{}, err
	}
	out := ComponentOut{DesignID: d.ID, Name: d.Name, Type: in.Type, Language: in.Language, CreatedAt: d.CreatedAt, File: file}
	if file == nil {
		var cut, cutBelow bool
		out.Interface, cut = part(code.Interface, 0, maxShown/2)
		out.Implementation, cutBelow = part(code.Implementation, 0, maxShown/2)
		out.Truncated = cut || cutBelow
	}
	return out, nil
}

// Architecture designs an architecture. Its file is the diagram, or in Markdown the documentation
// with the diagram.
func (s *Service) Architecture(ctx context.Context, in ArchitectureIn) (ArchitectureOut, error) {
	model, err := s.system(ctx, in)
	if err != nil {
		return ArchitectureOut{}, err
	}
	drawing, problems := architecture.Generate(model, in.Format)
	d := Design{Type: "architecture", Format: in.Format, Name: in.Name, Content: drawing.Diagram, Documentation: drawing.Documentation}
	d, file, err := s.keep(ctx, d, problems, in.Output)
	if err != nil {
		return ArchitectureOut{}, err
	}
	out := ArchitectureOut{
		DesignID: d.ID, Name: d.Name, Pattern: in.Pattern, Format: d.Format,
		Breaks: drawing.Breaks, Notes: drawing.Notes, CreatedAt: d.CreatedAt, File: file,
	}
	if file == nil {
		var cut, cutBelow bool
		out.Diagram, cut = part(d.Content, 0, maxShown/2)
		out.Documentation, cutBelow = part(d.Documentation, 0, maxShown/2)
		out.Truncated = cut || cutBelow
	}
	return out, nil
}

// readTime limits the time to read a folder's imports.
const readTime = time.Minute

// system returns the model to draw, from the arguments or from the imports in a folder.
func (s *Service) system(ctx context.Context, in ArchitectureIn) (architecture.Model, error) {
	switch {
	case in.Path == "" && len(in.Components) == 0:
		return architecture.Model{}, toolfold.Errorf(toolfold.InvalidInput, "neither components nor path is given").
			About(toolfold.ProblemMissing, "components").WithHint("give components, or a folder as path to draw its imports")
	case in.Path == "":
		return in.Model, nil
	case s.workspace == "":
		return architecture.Model{}, workspace.None()
	}
	reading, stop := context.WithTimeout(ctx, readTime)
	defer stop()
	model, problems, err := architecture.Read(reading, in.Model, s.workspace, in.Path)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		err = toolfold.Errorf(NotReadable, "reading %s took longer than %v", shorten.Quoted(in.Path), readTime).
			About(toolfold.ProblemRefused, "path").WithHint("name a smaller folder")
	case errors.Is(err, architecture.ErrEmpty):
		err = toolfold.Errorf(NotReadable, "%s has no sources that are read", shorten.Quoted(in.Path)).
			About(toolfold.ProblemRefused, "path").WithHint("name a folder of Go, TypeScript, JavaScript or Python; tests do not count")
	case len(problems) > 0:
		err = &toolfold.Error{Code: toolfold.InvalidInput, Problems: problems}
	}
	return model, err
}

// keep stores a design and writes its file. It checks the file first, so that a rejected call
// stores nothing, and writes it last, so that its text is already known as toolfold's. The id is
// computed from the design: the same design again returns the stored one.
func (s *Service) keep(ctx context.Context, d Design, problems []toolfold.Problem, out Output) (Design, *File, error) {
	if len(problems) > 0 {
		return Design{}, nil, &toolfold.Error{Code: toolfold.InvalidInput, Problems: problems}
	}
	if n := len(d.Content) + len(d.Documentation); n > MaxBytes {
		return Design{}, nil, toolfold.Errorf(toolfold.InvalidInput, "the design has %d bytes, more than %d", n, MaxBytes).
			WithHint("split it into several designs")
	}
	d.ID = uuid.NewHash(sha256.New(), namespace, ordered.MustJSON([]string{d.Type, d.Format, d.Name, d.Content, d.Documentation}), 8).String()
	d.CreatedAt = s.now().UTC().Truncate(time.Microsecond)
	text := d.Content
	if d.Format == architecture.Markdown {
		text = d.Documentation
	}
	var target *workspace.Target
	if out.OutputPath != "" {
		var err error
		if target, err = s.open(ctx, out); err != nil {
			return Design{}, nil, err
		}
		defer target.Close()
	}
	created, err := s.store.Put(ctx, d)
	if err != nil {
		return Design{}, nil, fmt.Errorf("storing design: %w", err)
	}
	d.CreatedAt = created
	if target == nil {
		return d, nil, nil
	}
	if err := target.Write([]byte(text)); err != nil {
		return Design{}, nil, err
	}
	return d, &File{Path: target.Name, Bytes: len(text)}, nil
}

// namespace is the UUID namespace of design ids. It must never change.
var namespace = uuid.MustParse("7b0d6c52-8d0e-4d52-9f0a-64f1d1f3a7c1")

// designTypes lists the types of designs.
var designTypes = []string{"api", "component", "schema", "architecture"}

// List lists designs, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := in.Position("design.list")
	if err != nil {
		return ListOut{}, err
	}
	page, err := s.store.List(ctx, Query{Type: in.Type, Limit: in.Limit + 1, After: after})
	if err != nil {
		return ListOut{}, fmt.Errorf("listing designs: %w", err)
	}
	out := ListOut{Total: page.Total}
	out.Designs, out.Paged = toolfold.CutPage(page.Designs, in.Limit, func(last Item) string {
		return toolfold.Position{CreatedAt: last.CreatedAt, ID: last.ID}.Cursor()
	})
	for i := range out.Designs {
		out.Designs[i].Status = Draft
	}
	return out, nil
}

// maxShown limits the text in a result, in bytes: about 8,000 tokens.
const maxShown = 24_000

// part returns at most limit bytes of a text from an offset, and whether more follow. It cuts at
// the end of a line if possible.
func part(text string, offset, limit int) (excerpt string, more bool) {
	text = text[min(offset, len(text)):]
	if len(text) <= limit {
		return text, false
	}
	text = text[:limit]
	if end := strings.LastIndexByte(text, '\n'); end >= 0 {
		return text[:end+1], true
	}
	return strings.ToValidUTF8(text, ""), true
}

// Get returns a design, up to the size of a result.
func (s *Service) Get(ctx context.Context, in GetIn) (GetOut, error) {
	d, found, err := s.store.Get(ctx, strings.ToLower(in.DesignID))
	if err != nil {
		return GetOut{}, fmt.Errorf("reading design: %w", err)
	}
	if !found {
		return GetOut{}, toolfold.Errorf(NotFound, "there is no design %s", in.DesignID).WithHint("design.list shows those there are")
	}
	out := GetOut{Item: Item{ID: d.ID, Type: d.Type, Format: d.Format, Name: d.Name, Status: Draft, CreatedAt: d.CreatedAt}}
	// One offset counts through both texts.
	offset := min(in.Offset, len(d.Content)+len(d.Documentation))
	excerpt, more := part(d.Content+d.Documentation, offset, maxShown)
	if more {
		out.NextOffset = offset + len(excerpt)
	}
	split := min(max(len(d.Content)-offset, 0), len(excerpt))
	out.Content, out.Documentation = excerpt[:split], excerpt[split:]
	return out, nil
}
