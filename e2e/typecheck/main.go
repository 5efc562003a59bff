// Command typecheck type-checks the packages and tests of the product and of this module, with all their
// imports, for other systems. It exits with 1 if one does not type-check. It compiles nothing: that takes
// a tenth of the time of go vet for a system without compiled packages.
//
// Usage: go run -C e2e ./typecheck GOOS/GOARCH...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/toolfold/toolfold/e2e/product"
)

func main() {
	dir, err := product.Dir(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
	for _, target := range os.Args[1:] {
		for _, module := range []string{dir, filepath.Join(dir, "e2e")} {
			if err := check(module, target); err != nil {
				fmt.Fprintln(os.Stderr, "typecheck:", err)
				os.Exit(1)
			}
		}
	}
}

// check loads all packages of the module in a folder for one target.
func check(module, target string) error {
	system, processor, ok := strings.Cut(target, "/")
	if !ok {
		return fmt.Errorf("%q is not GOOS/GOARCH", target)
	}
	start := time.Now()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax, Tests: true, Dir: module,
		Env: append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return err
	}
	if packages.PrintErrors(loaded) > 0 {
		return errors.New("packages of " + module + " do not type-check for " + target)
	}
	fmt.Printf("%s: %d packages of %s, %.0f s\n", target, len(loaded), filepath.Base(module), time.Since(start).Seconds())
	return nil
}
