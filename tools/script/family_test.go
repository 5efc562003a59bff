package script_test

import (
	"testing"

	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/script"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	toolfoldtest.Run(t, script.Family)
}
