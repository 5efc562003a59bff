package memory_test

import (
	"testing"

	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/memory"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	toolfoldtest.Run(t, memory.Family)
}
