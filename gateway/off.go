package gateway

import (
	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// isOff reports whether the user has switched the server off.
func (l *link) isOff() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.off
}

// offReason explains that the server is switched off and how to switch it on; empty if it is on. The
// caller holds the lock.
func (l *link) offReason() string {
	if !l.off {
		return ""
	}
	return l.Name + " is switched off: toolfold upstream enable " + l.Name
}

// switchedOff returns the error of a call to a server that is switched off; nil if it is on.
func (l *link) switchedOff(tool string) *toolfold.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.off {
		return nil
	}
	return toolfold.Errorf(toolfold.UpstreamError, "%s: %s", shorten.Quoted(tool), l.offReason()).
		WithHint("only the user can switch it on; other tools are not affected")
}

// switchLinks applies [Options.Off], and reports whether a server was switched. A server that was
// switched off offers nothing from here on, and its session ends once no call runs.
func (g *Gateway) switchLinks() (switched bool) {
	if g.options.Off == nil {
		return false
	}
	off := g.options.Off()
	for _, l := range g.links {
		l.mu.Lock()
		was := l.off
		l.off = off[l.Name]
		changed, learns := was != l.off, !l.off && l.record.Tools == nil && !l.learning && l.Problem == "" && !l.Login.byCaller()
		session := l.session
		ends := l.off && session != nil && len(l.open) == 0
		l.mu.Unlock()
		switched = switched || changed
		switch {
		case ends:
			l.drop(session)
		case changed && learns && g.learns.Load():
			g.work.Go(func() { l.learn(make(chan error, 1)) })
		}
	}
	return switched
}
