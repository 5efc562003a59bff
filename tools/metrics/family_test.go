package metrics_test

import (
	"testing"

	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/metrics"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	toolfoldtest.Run(t, metrics.Family)
}
