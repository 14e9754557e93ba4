package bench

import (
	"fmt"
	"strings"
)

// Books compare the MOVED and ASK replies that the client saw with those that
// the servers sent.
type Books struct {
	// State is "closed" when both sums are equal for MOVED and for ASK and the
	// servers' counters cover the whole run, else "open".
	State string `json:"state"`
	// Reasons say why books that are open may be.
	Reasons []string `json:"reasons"`
	// Unexplained is the part of the difference that no reason accounts for.
	Unexplained uint64 `json:"unexplained"`
}

// A ledger is what books are made from.
type ledger struct {
	client ClientRedirects
	server ServerRedirects
	// lost are commands whose reply the client never read; each may hide one
	// redirect.
	lost uint64
	// blind are nodes whose counters are not complete, with the reason: their
	// part is not known at all.
	blind []string
	// others are connections of other clients; each may have been redirected.
	others []string
}

// close compares the sums and gives reasons for a difference.
func (l ledger) close() Books {
	b := Books{State: "closed", Reasons: []string{}}
	tooMany, missing := difference(l.server.Moved, l.client.Moved)
	askTooMany, askMissing := difference(l.server.Ask, l.client.Ask)
	tooMany, missing = tooMany+askTooMany, missing+askMissing
	if tooMany == 0 && missing == 0 && len(l.blind) == 0 {
		return b
	}
	b.State = "open"
	b.Reasons = append(b.Reasons, l.blind...)
	if len(l.blind) > 0 {
		return b // counters that are not complete can hide any difference
	}
	if tooMany > 0 && l.lost > 0 {
		b.Reasons = append(b.Reasons, fmt.Sprintf(
			"lost replies: %s commands ended without a reply (timeout or broken connection); a server may have answered them with a redirect", thousands(l.lost)))
		tooMany -= min(tooMany, l.lost)
	}
	if tooMany > 0 && len(l.others) > 0 {
		b.Reasons = append(b.Reasons, "somebody else on the cluster: "+strings.Join(l.others, ", "))
		tooMany = 0
	}
	b.Unexplained = tooMany + missing
	return b
}

func difference(a, b uint64) (more, less uint64) {
	if a > b {
		return a - b, 0
	}
	return 0, b - a
}
