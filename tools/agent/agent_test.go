package agent

import (
	"testing"

	"github.com/toolfold/toolfold/toolfoldtest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	toolfoldtest.Run(t, Family)
}
