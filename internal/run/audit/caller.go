package audit

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// MaxClient limits the kept name of a client, in characters: clients choose it, and each of their calls has it.
const MaxClient = 100

// CallerOf returns the caller of a call from an origin. For a call that a task makes, it is the caller of the call
// that became the task. It is zero without a token and a name.
func CallerOf(ctx context.Context, from toolfold.Origin) callctx.By {
	if by := callctx.Of[callctx.By](ctx); by != (callctx.By{}) {
		return by
	}
	if from.Token == "" && from.Caller == "" {
		return callctx.By{}
	}
	return callctx.By{
		Caller: from.Caller, Token: hex.EncodeToString([]byte(from.Token[:min(6, len(from.Token))])),
		Client: shorten.To(strings.TrimPrefix(from.Client, from.Caller+" "), MaxClient),
	}
}

// NameOf returns the name of a caller, or the beginning of its token's hash if it has no name. It is empty without
// a caller.
func NameOf(by callctx.By) string { return cmp.Or(by.Caller, by.Token) }

// Server is the host name and the process ID.
var Server = sync.OnceValue(func() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
})
