package telemetry_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/telemetry"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, telemetry.Family)
}
