package discovery_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/discovery"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, discovery.Family)
}
