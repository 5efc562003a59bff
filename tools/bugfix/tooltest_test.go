package bugfix_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/bugfix"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, bugfix.Family)
}
