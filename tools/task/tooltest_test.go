package task_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, task.Family)
}
