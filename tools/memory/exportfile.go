package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// maxFile limits a file of entries, in bytes. It is in memory while it is written or read.
const maxFile = 32 << 20

// Writes returns the file that a call would write.
func (s *Service) Writes(_ context.Context, in ExportFileIn) ([]string, error) {
	return []string{in.Path}, nil
}

// file returns the parameter path.
func (s *Service) file(path string) workspace.Path {
	return workspace.Path{Workspace: s.Folder, Parameter: file.Name, Value: path, Example: "notes.json"}
}

// ExportFile writes the entries of all pages of an export to a file of the workspace, in the form
// of one answer with an entry per line. It replaces only a file with an export.
func (s *Service) ExportFile(ctx context.Context, in ExportFileIn) (ExportFileOut, error) {
	target, err := s.file(in.Path).Target(0o600, replaceExport)
	if err != nil {
		return ExportFileOut{}, err
	}
	defer target.Close()
	page := ExportIn{Namespace: in.Namespace, Prefix: in.Prefix, Tags: in.Tags, Workspace: in.Workspace, IncludeMetadata: true}
	out := ExportFileOut{Path: target.Name, Replaced: target.Replaces}
	var lines bytes.Buffer
	for more := true; more; {
		part, err := s.export(callctx.WithRoom(ctx, maxFile), page)
		if err != nil {
			return ExportFileOut{}, err
		}
		if page.Cursor == "" {
			out.ExportedAt = part.ExportedAt
		}
		for _, x := range part.Data {
			if out.Count++; out.Count > 1 {
				lines.WriteString(",\n")
			}
			lines.Write(ordered.MustJSON(x))
		}
		if out.Count > maxImport || lines.Len() > maxFile-pageFrame {
			return ExportFileOut{}, toolfold.Errorf(toolfold.LimitReached,
				"more matches than the %s entries and %d MiB of a file; nothing was written", english.Grouped(maxImport), maxFile>>20).
				WithHint("write several files: name a namespace, a prefix, tags or a workspace")
		}
		page.Cursor, more = part.NextCursor, part.HasMore
	}
	if out.Count == 0 {
		return ExportFileOut{}, toolfold.Errorf(toolfold.InvalidInput, "no entry matches; nothing was written").
			WithHint("memory.stats lists the namespaces")
	}
	text := fmt.Appendf(nil, `{"count":%d,"exportedAt":%s,"data":[`+"\n", out.Count, ordered.MustJSON(out.ExportedAt))
	text = append(append(text, lines.Bytes()...), "\n]}\n"...)
	out.Bytes = len(text)
	return out, target.Write(text)
}

// replaceExport returns an error unless a file has an export.
func replaceExport(root *os.Root, name string, size int64) error {
	if size <= maxFile {
		text, err := root.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading the file at path: %w", err)
		}
		if in, err := parseExport(text); err == nil && in.ExportedAt != "" {
			return nil
		}
	}
	return toolfold.Errorf(workspace.FileExists, "%s exists, and is not an export; nothing was written", shorten.Quoted(name)).
		WithHint("choose another path, or remove the file")
}

// fromFile returns the arguments of an import with the entries of the file at its path.
func (s *Service) fromFile(in ImportIn) (ImportIn, error) {
	text, err := s.file(in.Path).Read(maxFile)
	if err != nil {
		if refused := new(toolfold.Error); errors.As(err, &refused) {
			return in, err
		}
		return in, unreadable(in.Path, err)
	}
	read, err := parseExport(text)
	if err != nil {
		return in, unreadable(in.Path, err)
	}
	in.Data, in.HasMore = read.Data, read.HasMore
	return in, nil
}

func unreadable(path string, reason error) error {
	return toolfold.Errorf(workspace.PathNotUsable, "%s cannot be imported: %s; nothing was stored", shorten.Quoted(path),
		shorten.To(reason.Error(), 200)).About(toolfold.ProblemRefused, file.Name).
		WithHint("name a file that memory.export_file wrote: JSON with a list data of entries; split a larger one")
}

// parseExport parses a file: an answer of export, or a list of entries. Like the arguments of a
// call, it must be UTF-8 and give each member once.
func parseExport(text []byte) (in ImportIn, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text))
	if _, err := dec.ReadValue(); err != nil {
		return in, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return in, jsonx.ErrMoreValues
	}
	if text = bytes.TrimSpace(text); text[0] == '[' {
		err = json.Unmarshal(text, &in.Data)
	} else if json.Unmarshal(text, &in) != nil || in.Data == nil {
		err = errors.New("it has no list data")
	}
	if len(in.Data) > maxImport {
		err = fmt.Errorf("it has more than %s entries", english.Grouped(maxImport))
	}
	return in, err
}
