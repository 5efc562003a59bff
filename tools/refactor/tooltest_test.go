package refactor_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/refactor"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, refactor.Family)
}
