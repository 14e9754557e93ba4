// Package health says whether a Redis or Valkey cluster can serve, in a form
// you can page on: a verdict with reasons, each naming the node, the slots and
// what to do.
//
// ForEachMaster with a PING is not health: it returns nil while slots are
// served by nobody, shows one of several errors, and can take many seconds
// when a node does not answer. This package asks every node what it sees,
// within a bound, and compares the answers.
//
// For a check at start or in a command, with the client you have:
//
//	if err := health.QuickCheck(ctx, rdb); err != nil {
//		log.Fatal(err)
//	}
//
// For a service:
//
//	checker, err := health.New(health.Config{Client: rdb})
//	...
//	defer checker.Close()
//	mux.Handle("/livez", health.Livez())
//	mux.Handle("/readyz", checker.Readyz())
//	mux.Handle("/reportz", checker.Reportz())
//
// A [Checker] asks on connections of its own, so that a busy pool does not
// look like a sick cluster; any number of callers cost one round of probes per
// half second. A dead replica is [Degraded], a slot that nobody serves is
// [Down].
//
// Left out: history and alerting (package metrics exports the report), host
// and configuration findings (rcctl doctor), and anything that changes the
// cluster.
package health
