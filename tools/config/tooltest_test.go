package config_test

import (
	"testing"

	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/tooltest"
)

func TestDeclaration(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, config.Family)
}
