package guard_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/guard"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, guard.Family)
}
