package agent_test

import (
	"testing"

	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/agent"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	toolfoldtest.Run(t, agent.Family)
}
