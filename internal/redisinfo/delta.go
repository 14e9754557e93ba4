package redisinfo

// Delta is what happened on one server between two INFO samples.
type Delta struct {
	// Restarted: the run id changed between the samples. Reset: a counter
	// went backwards or the stats were reset (CONFIG RESETSTAT). When either
	// is true the counters below are those of the second sample since its
	// restart or reset and are a lower bound.
	Restarted, Reset bool
	// ResetEvidence says what told of the reset, for people; empty without
	// one. "cmdstat_get: 100 calls, then 7".
	ResetEvidence string
	// Errors, Commands and Counters are differences. Counters covers the
	// monotone fields of INFO stats. Names that did not move are left out.
	Errors   map[string]uint64
	Commands map[string]CommandStat
	Counters map[string]uint64
	// ErrorsDisabled: errorstats were off in one of the samples, so Errors
	// cannot be trusted.
	ErrorsDisabled bool
}

// Between is the difference of two samples of one server, before first. Both
// should hold at least the sections server, clients, stats, commandstats and
// errorstats (INFO everything does): what a sample lacks is not compared.
//
// A restart is seen by run_id, or by the uptime where a sample has no run_id.
// A reset is seen by any of:
//
//   - a monotone counter, a command's calls or an error's count that went
//     backwards or vanished while its section is there;
//   - the count of CONFIG RESETSTAT itself, which a server books right after
//     it cleared everything: any change in it is a reset, also one that later
//     traffic has outgrown on every other counter (Redis 7.0 and later);
//   - more connected clients than connections ever received, where that was
//     not so before.
//
// What cannot be noticed: a reset where CONFIG RESETSTAT had been run before
// the first sample too and took the same number of microseconds both times,
// no connection has been open since before it, and every other counter has
// outgrown its earlier value; and, without the commandstats section or before
// Redis 7.0, any reset whose counters have all been outgrown.
func Between(before, after Info) Delta {
	d := Delta{
		Restarted:      restarted(before, after),
		ErrorsDisabled: before.ErrorsDisabled || after.ErrorsDisabled,
		Errors:         map[string]uint64{},
		Commands:       map[string]CommandStat{},
		Counters:       map[string]uint64{},
	}
	if !d.Restarted {
		d.ResetEvidence = resetEvidence(before, after)
		d.Reset = d.ResetEvidence != ""
	}
	base := before
	if d.Restarted || d.Reset {
		base = Info{}
	}
	for name, n := range after.Errors {
		if n > base.Errors[name] {
			d.Errors[name] = n - base.Errors[name]
		}
	}
	for name, a := range after.Commands {
		b := base.Commands[name]
		c := CommandStat{
			Calls:    since(a.Calls, b.Calls),
			Usec:     since(a.Usec, b.Usec),
			Rejected: since(a.Rejected, b.Rejected),
			Failed:   since(a.Failed, b.Failed),
		}
		if c != (CommandStat{}) {
			d.Commands[name] = c
		}
	}
	for _, name := range monotone {
		a, okA := after.uint(name)
		b, okB := before.uint(name)
		if !okA || !okB {
			continue
		}
		if d.Restarted || d.Reset {
			b = 0
		}
		if a > b {
			d.Counters[name] = a - b
		}
	}
	return d
}

func since(after, before uint64) uint64 {
	if after < before {
		return 0
	}
	return after - before
}

func (i Info) uint(field string) (uint64, bool) {
	n, ok := i.Int(field)
	return uint64(n), ok && n >= 0
}

func restarted(before, after Info) bool {
	if b, a := before.RunID(), after.RunID(); b != "" && a != "" {
		return a != b
	}
	b, okB := before.Int("uptime_in_seconds")
	a, okA := after.Int("uptime_in_seconds")
	return okA && okB && a < b
}
