package design

import (
	"context"
	"fmt"
	"os"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Writes returns the file that a call would write.
func (s *Service) Writes(_ context.Context, out Output) ([]string, error) {
	if out.OutputPath == "" {
		return nil, nil
	}
	return []string{out.OutputPath}, nil
}

// open checks that a design may be written to a path: without a file, with a file that toolfold
// wrote, or with any regular file if the caller sets overwrite. The caller must close the target.
func (s *Service) open(ctx context.Context, out Output) (*workspace.Target, error) {
	if s.workspace == "" {
		return nil, toolfold.Errorf(workspace.PathNotUsable, "there is no workspace to write to").
			WithHint("leave outputPath out; design.get has the text")
	}
	return s.path("outputPath", out.OutputPath).Target(0o644, func(root *os.Root, name string, size int64) error {
		if out.Overwrite {
			return nil
		}
		exists := toolfold.Errorf(workspace.FileExists, "%s exists, and toolfold did not write its content; nothing was written",
			shorten.Quoted(name)).WithHint("choose another outputPath, or pass overwrite: true to replace it")
		if size > MaxBytes { // no design is larger
			return exists
		}
		text, err := root.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading the file at outputPath: %w", err)
		}
		ours, err := s.store.Wrote(ctx, string(text))
		if err != nil {
			return fmt.Errorf("looking for a design: %w", err)
		}
		if !ours {
			return exists
		}
		return nil
	})
}

// path returns a parameter with the path of a document.
func (s *Service) path(parameter, value string) workspace.Path {
	return workspace.Path{Workspace: s.workspace, Parameter: parameter, Value: value, Example: "docs/api.yaml"}
}
