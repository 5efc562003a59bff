package design_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/design"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, design.Family)
}
