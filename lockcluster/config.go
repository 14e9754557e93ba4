package lockcluster

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// Off turns off what a field of [Config] sets, where the field says so.
const Off = -1

// A Policy says what Get does when the key's shard does not answer.
type Policy int

const (
	// FailOpenBounded answers from the last good copy in this process, else
	// loads: one load per key and at most MaxSickLoads per process at a time.
	FailOpenBounded Policy = iota
	// FailStale answers from the last good copy, else with ErrUnavailable.
	FailStale
	// FailClosed answers with ErrUnavailable.
	FailClosed
)

// A WaitThen says what a caller does that waited WaitBudget for somebody
// else's load.
type WaitThen int

const (
	// LoadAlone loads itself, within LoserTimeout, once per process and key.
	LoadAlone WaitThen = iota
	// Error returns a LoadError with the reason WaitedTooLong.
	Error
)

// Config describes a cache. Every zero value is the documented default.
type Config struct {
	// Name is the namespace of the wake-up channel, "lockcluster:<Name>".
	// Caches that share keys must share it. Empty means "default".
	Name string

	// Fresh is how long a loaded value is answered without a load, at least
	// 1 ms. Zero means 5 min.
	Fresh time.Duration
	// Stale is how much longer the value is answered while one load refreshes
	// it. Zero means 10 s; Off means none.
	Stale time.Duration
	// Jitter shortens Fresh by a random part, up to this much, so that keys
	// loaded together do not expire together: Fresh stays an upper bound.
	// Zero means 10 % of Fresh; Off means none.
	Jitter time.Duration
	// NotFoundFor is how long "not found" is remembered. Zero means 30 s; Off
	// means not at all.
	NotFoundFor time.Duration
	// Beta scales early refreshes (XFetch): each reader refreshes ahead of
	// time with a probability that grows with the load's own duration and as
	// the expiry comes near. Zero means 1; Off means never.
	Beta float64

	// LoadTimeout bounds a load, whatever its callers' contexts say, and
	// frees the key. Zero means 3 s.
	LoadTimeout time.Duration
	// Lease is how long a loading process holds the key without a renewal: so
	// long the others wait when it dies. 1 s to 5 min (tests may go down to
	// 100 ms). Zero means 1 s.
	Lease time.Duration
	// NoRenewal leaves the lease alone: set Lease above LoadTimeout then.
	NoRenewal bool
	// WaitBudget bounds the wait for somebody else's load. Zero means
	// LoadTimeout.
	WaitBudget time.Duration
	// WaitThen says what happens after that.
	WaitThen WaitThen
	// LoserTimeout bounds the load after that. Zero means 2 s.
	LoserTimeout time.Duration

	// CooldownAfter is the number of failed loads of a key in a row, in all
	// processes together, after which its loader rests. Zero means 3.
	CooldownAfter int
	// Cooldown is the first rest; each further failure doubles it up to
	// CooldownMax. Zero means 1 s; Off means none.
	Cooldown time.Duration
	// CooldownMax bounds the rest. Zero means 30 s.
	CooldownMax time.Duration

	// StepBudget bounds each round trip to Redis. Zero means 100 ms.
	StepBudget time.Duration
	// WhenSick says what happens when the key's shard does not answer.
	WhenSick Policy
	// MaxSickLoads bounds the loads without Redis in this process. Zero
	// means 16.
	MaxSickLoads int
	// RefreshWorkers bounds the background refreshes in this process; what
	// finds no place is left to the next reader. Zero means 16.
	RefreshWorkers int
	// CopyEntries and CopyBytes bound the last good copies kept in this
	// process, for the time when a shard is sick. Zero means 1024 entries and
	// 16 MiB; CopyEntries Off means none.
	CopyEntries int
	CopyBytes   int
	// CopyFor is how old a last good copy may be. Zero means Fresh + Stale.
	CopyFor time.Duration

	// MaxValueBytes bounds what is stored; a larger value is answered and not
	// stored. Zero means 16 MiB.
	MaxValueBytes int
	// PlainValues keeps values as plain strings that other programs GET and
	// SET; see the package comment for what it cannot keep.
	PlainValues bool

	// Pattern maps a key to the label under which its calls are counted, such
	// as "product:*". At most 100 patterns are kept apart, further ones are
	// counted as "other". nil counts all keys as "". It must be fast and may
	// be called concurrently.
	Pattern func(key string) string
	// Logger takes what an operator must know, rate-limited. nil means
	// slog.Default().
	Logger *slog.Logger
}

func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

func off[T time.Duration | int | float64](p *T) {
	if *p < 0 {
		*p = 0
	}
}

// withDefaults fills in the defaults and turns Off into 0.
func (c Config) withDefaults() Config {
	def(&c.Name, "default")
	def(&c.Fresh, 5*time.Minute)
	def(&c.Stale, 10*time.Second)
	def(&c.Jitter, c.Fresh/10)
	def(&c.NotFoundFor, 30*time.Second)
	def(&c.Beta, 1)
	def(&c.LoadTimeout, 3*time.Second)
	def(&c.Lease, time.Second)
	def(&c.WaitBudget, c.LoadTimeout)
	def(&c.LoserTimeout, 2*time.Second)
	def(&c.CooldownAfter, 3)
	def(&c.Cooldown, time.Second)
	def(&c.CooldownMax, 30*time.Second)
	def(&c.StepBudget, 100*time.Millisecond)
	def(&c.MaxSickLoads, 16)
	def(&c.RefreshWorkers, 16)
	def(&c.CopyEntries, 1024)
	def(&c.CopyBytes, 16<<20)
	def(&c.MaxValueBytes, 16<<20)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	off(&c.Stale)
	off(&c.Jitter)
	off(&c.NotFoundFor)
	off(&c.Beta)
	off(&c.Cooldown)
	off(&c.CopyEntries)
	def(&c.CopyFor, c.Fresh+c.Stale)
	return c
}

// maxSpan bounds every duration: lengths are kept as 4 bytes of milliseconds.
const maxSpan = 30 * 24 * time.Hour

// validate checks a configuration with its defaults filled in.
func (c Config) validate() error {
	var errs []error
	bad := func(field string, v any, want string) {
		errs = append(errs, fmt.Errorf("%s %v: %s", field, v, want))
	}
	span := func(field string, d, lo, hi time.Duration) {
		if d < lo || d > hi {
			bad(field, d, fmt.Sprintf("want %s to %s", lo, hi))
		}
	}
	span("Fresh", c.Fresh, time.Millisecond, maxSpan)
	span("Stale", c.Stale, 0, maxSpan)
	span("NotFoundFor", c.NotFoundFor, 0, maxSpan)
	span("LoadTimeout", c.LoadTimeout, time.Millisecond, time.Hour)
	span("Lease", c.Lease, 100*time.Millisecond, 5*time.Minute)
	span("WaitBudget", c.WaitBudget, time.Millisecond, time.Hour)
	span("LoserTimeout", c.LoserTimeout, time.Millisecond, time.Hour)
	span("Cooldown", c.Cooldown, 0, time.Hour)
	span("CooldownMax", c.CooldownMax, c.Cooldown, time.Hour)
	span("StepBudget", c.StepBudget, time.Millisecond, 10*time.Second)
	span("CopyFor", c.CopyFor, time.Millisecond, 2*maxSpan)
	if c.Jitter >= c.Fresh {
		bad("Jitter", c.Jitter, fmt.Sprintf("must be below Fresh (%s), which it shortens", c.Fresh))
	}
	if c.Beta > 100 {
		bad("Beta", c.Beta, "want 0 to 100")
	}
	if c.NoRenewal && c.Lease < c.LoadTimeout {
		bad("Lease", c.Lease, fmt.Sprintf("without renewal it must not end before LoadTimeout (%s)", c.LoadTimeout))
	}
	for field, n := range map[string]int{"CooldownAfter": c.CooldownAfter, "MaxSickLoads": c.MaxSickLoads,
		"RefreshWorkers": c.RefreshWorkers, "CopyBytes": c.CopyBytes, "MaxValueBytes": c.MaxValueBytes} {
		if n < 1 {
			bad(field, n, "must be at least 1")
		}
	}
	if c.WhenSick < FailOpenBounded || c.WhenSick > FailClosed {
		bad("WhenSick", int(c.WhenSick), "want FailOpenBounded, FailStale or FailClosed")
	}
	if c.WaitThen < LoadAlone || c.WaitThen > Error {
		bad("WaitThen", int(c.WaitThen), "want LoadAlone or Error")
	}
	return errors.Join(errs...)
}

// checkClient refuses clients with which the promises cannot be kept: one that
// reads from replicas would bring invalidated values back, and one that does
// not let a context bound socket I/O would not keep a budget.
func checkClient(client redis.UniversalClient) error {
	var errs []error
	timeouts := true
	switch c := client.(type) {
	case nil:
		return errors.New("client: is nil")
	case *redis.ClusterClient:
		o := c.Options()
		if o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
			errs = append(errs, errors.New("client: ReadOnly, RouteByLatency and RouteRandomly must be off: a lagging replica would bring invalidated values back"))
		}
		timeouts = o.ContextTimeoutEnabled
	case *redis.Client:
		timeouts = c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		timeouts = c.Options().ContextTimeoutEnabled
	}
	if !timeouts {
		errs = append(errs, errors.New("client: set ContextTimeoutEnabled: without it no time limit holds"))
	}
	return errors.Join(errs...)
}
