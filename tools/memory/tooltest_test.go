package memory_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, memory.Family)
}
