package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/policy"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Rules enforce the policies of sessions. They are consulted before each call that writes files.
type Rules struct {
	// Open opens the store, or returns the open one.
	Open func(context.Context) (Store, error)

	Workspace string // the folder; policies cover files below it
}

// Active returns the given sessions that have not ended.
func (r Rules) Active(ctx context.Context, sessions []string) ([]string, error) {
	store, err := r.Open(ctx)
	if err != nil {
		return nil, err
	}
	active, err := store.Active(ctx, sessions)
	if err != nil {
		return nil, fmt.Errorf("looking for sessions: %w", err)
	}
	return active, nil
}

// Claim fails if a policy of one of the sessions forbids writing one of the files. If it succeeds,
// the folders or packages of the files count as changed from then on, even if the call fails.
func (r Rules) Claim(ctx context.Context, sessions, files []string) error {
	store, err := r.Open(ctx)
	if err != nil {
		return err
	}
	for _, id := range sessions {
		if err := store.Claim(ctx, id, func(b *Binding) error { return r.judge(b, files) }); err != nil {
			return err
		}
	}
	return nil
}

func (r Rules) judge(b *Binding, files []string) error {
	p := policy.Policy{ID: b.PolicyID, Gates: b.Gates, Allowed: b.Allowed, Forbidden: b.Forbidden, Radius: b.Radius, By: b.By}
	refused, areas, err := policy.Checker{Dir: r.Workspace}.Admit(p, files)
	if err != nil {
		return err
	}
	if refused != nil {
		return toolfold.Errorf(Violation, "%s may not be written: policy %s of session %s: %s; nothing was written",
			shorten.To(refused.Path, 120), b.PolicyID, b.SessionID, shorten.To(refused.Reason, 160)).
			WithHint("write a file that the policy allows (guard.list shows it), or ask the session's initiator")
	}
	for _, area := range areas {
		if slices.Contains(b.Areas, area) {
			continue
		}
		if len(b.Areas) >= b.Radius {
			return toolfold.Errorf(Violation, "%s may not be written: policy %s of session %s lets %d be changed, and there were: "+
				"%s; nothing was written",
				shorten.To(files[0], 120), b.PolicyID, b.SessionID, b.Radius, shorten.To(strings.Join(b.Areas, ", "), 160)).
				WithHint("stay within those, or ask the session's initiator")
		}
		b.Areas = append(b.Areas, area)
	}
	return nil
}
