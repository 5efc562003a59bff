package lazy_test

import (
	"testing"

	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/toolfoldtest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	toolfoldtest.Run(t, lazy.Family)
}
