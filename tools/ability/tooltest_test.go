package ability_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, ability.Family)
}
