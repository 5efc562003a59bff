package timer_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/timer"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, timer.Family)
}
