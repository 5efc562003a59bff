package queue_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, queue.Family)
}
