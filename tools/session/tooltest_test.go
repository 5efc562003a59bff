package session_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, session.Family)
}
