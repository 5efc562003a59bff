// Package product finds and builds the toolfold that this module tests: the module that go.mod
// replaces, from any folder of the two.
package product

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Dir returns the root of the product's module.
func Dir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/toolfold/toolfold").Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
		}
		return "", fmt.Errorf("finding toolfold's module (run this in a clone of it): %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Build builds the command toolfold into binary, an absolute path, with the requirements of its own
// module. flags are passed to go build.
func Build(ctx context.Context, binary string, flags ...string) error {
	dir, err := Dir(ctx)
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", binary}, flags...), "./cmd/toolfold")...)
	build.Dir = dir
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building toolfold: %w\n%s", err, text)
	}
	return nil
}
