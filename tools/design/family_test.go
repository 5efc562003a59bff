package design_test

import (
	"testing"

	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/design"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	toolfoldtest.Run(t, design.Family)
}
