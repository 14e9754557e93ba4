package redisinfo

// Delta is what happened on one server between two INFO samples.
type Delta struct {
	// Restarted: the run id changed between the samples. Reset: a counter
	// went backwards or the stats were reset (CONFIG RESETSTAT). When either
	// is true the counters below are those of the second sample since its
	// restart or reset and are a lower bound.
	Restarted, Reset bool
	// Errors, Commands and Counters are differences. Counters covers the
	// monotone fields of INFO stats.
	Errors   map[string]uint64
	Commands map[string]CommandStat
	Counters map[string]uint64
	// ErrorsDisabled: errorstats were off in one of the samples, so Errors
	// cannot be trusted.
	ErrorsDisabled bool
}

// Between is the difference of two samples of one server, before first.
func Between(before, after Info) Delta { panic("to be written") }
