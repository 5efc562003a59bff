package settings

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold/lazy"
)

func TestListAdvice(t *testing.T) {
	t.Parallel()
	if text := ListAdvice(longList+1, lazy.Lazy); !strings.HasPrefix(text, "the list costs 10001 tokens: --listing=search ") {
		t.Errorf("of a long list it says %q", text)
	}
	if text := ListAdvice(longList, lazy.Lazy) + ListAdvice(2*longList, lazy.Search); text != "" {
		t.Errorf("it says %q", text)
	}
}
