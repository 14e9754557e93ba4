package lockcluster

// A Source says where a value came from.
type Source int

const (
	// Fresh: from Redis, within its time.
	Fresh Source = iota + 1
	// Early: from Redis, and this call started an early refresh.
	Early
	// Stale: from Redis, beyond its time; a refresh runs or the loader
	// rests.
	Stale
	// Loaded: loaded by this process for this call or one it joined.
	Loaded
	// Elsewhere: another process loaded it while this call waited.
	Elsewhere
	// Fallback: loaded by this process after it waited WaitBudget for another.
	Fallback
	// LastGood: the last good copy of this process; the shard is sick.
	LastGood
	// Alone: loaded by this process without a lease, because the shard is
	// sick, refuses scripts, or holds another type at the key.
	Alone
)

var sources = [...]string{"none", "fresh", "early", "stale", "loaded", "other", "fallback", "copy", "alone"}

// String is a short word: fresh, early, stale, loaded, other, fallback, copy,
// alone.
func (s Source) String() string {
	if s < 0 || int(s) >= len(sources) {
		return sources[0]
	}
	return sources[s]
}

// Hit reports whether no load was waited for: what X-Cache calls a hit.
func (s Source) Hit() bool { return s >= Fresh && s <= Stale || s == LastGood }

// A Result is the answer to a Get.
type Result struct {
	// Value is the value. It belongs to the caller.
	Value []byte
	// Source says where it came from.
	Source Source
	// Shared is set when the answer went to more than one caller of this
	// process, leader included: X-Cache-Coalesced.
	Shared bool
}

// XCache is "HIT" or "MISS", for a header of that name.
func (r Result) XCache() string {
	if r.Source.Hit() {
		return "HIT"
	}
	return "MISS"
}
