package trace_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/tooltest"
	"github.com/toolfold/toolfold/tools/trace"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, trace.Family)
}
