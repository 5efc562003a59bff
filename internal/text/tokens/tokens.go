// Package tokens counts what a text costs a model, in o200k_base tokens.
package tokens

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// The package above codec would link the vocabularies of all its encodings.
var o200k = sync.OnceValue(codec.NewO200kBase)

// Count counts the o200k_base tokens of a text. The first call loads the
// vocabulary: about 20 ms and 7 MB. It is safe for concurrent use.
func Count(text string) (int, error) {
	n, err := o200k().Count(text)
	if err != nil {
		return 0, fmt.Errorf("counting tokens: %w", err)
	}
	return n, nil
}
