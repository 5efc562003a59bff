package metrics_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/metrics"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, metrics.Family)
}
