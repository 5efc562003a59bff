package agent

import (
	"testing"

	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, Family)
}
