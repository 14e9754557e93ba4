package health

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// A damper turns single verdicts into readiness that does not flap.
type damper struct {
	judged    bool // there was a verdict
	ready     bool
	bad, good int // in a row
}

// Readiness changes after this many rounds in a row that say so.
const (
	badRounds  = 2
	goodRounds = 3
)

// observe takes the verdict of one round. The first one counts at once.
func (d *damper) observe(good bool) {
	if good {
		d.good, d.bad = d.good+1, 0
	} else {
		d.bad, d.good = d.bad+1, 0
	}
	switch {
	case !d.judged:
		d.judged, d.ready = true, good
	case d.ready && d.bad >= badRounds:
		d.ready = false
	case !d.ready && d.good >= goodRounds:
		d.ready = true
	}
}

// Livez answers 200 as long as the process can answer at all. It never looks
// at Redis: restarting a service does not repair a cluster.
func Livez() http.Handler {
	return get(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
}

// Readyz answers 200 while the cluster can serve and 503 while it cannot, with
// the verdict and its reasons as text. Degraded is ready. It becomes unready
// after two rounds of probes that say Down and ready again after three that do
// not; the first round counts at once. Rounds happen when somebody asks (here,
// at Reportz, or by Report), at most one per MaxAge.
//
// It answers within 2 s.
func (c *Checker) Readyz() http.Handler {
	return get(func(w http.ResponseWriter, req *http.Request) {
		rep, err := c.bounded(req)
		if err != nil {
			http.Error(w, "unknown: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		c.mu.Lock()
		ready := c.damper.ready
		c.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, rep.Verdict)
		for _, r := range rep.Reasons {
			fmt.Fprintln(w, r)
		}
	})
}

// Reportz answers with the report as JSON (schema rcctl.health.v1), with 200
// whatever the verdict is, and with 503 when there is no report. It answers
// within 2 s.
func (c *Checker) Reportz() http.Handler {
	return get(func(w http.ResponseWriter, req *http.Request) {
		rep, err := c.bounded(req)
		if err != nil {
			http.Error(w, "unknown: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(rep)
	})
}

func (c *Checker) bounded(req *http.Request) (*Report, error) {
	ctx, cancel := context.WithTimeout(req.Context(), 2*time.Second)
	defer cancel()
	return c.Report(ctx)
}

// get answers GET and HEAD alone, and never from a cache.
func get(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		h(w, req)
	})
}
