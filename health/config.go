package health

import (
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config describes a [Checker]. One of Client and Options is needed; every
// other zero value is the documented default.
type Config struct {
	// Client is the client of this process. Its options say how to reach the
	// nodes, and its pools are part of the report. The checker never sends
	// anything through it and does not close it.
	Client *redis.ClusterClient

	// Options say how to reach the nodes (Addrs, credentials, TLSConfig, Dialer)
	// when there is no Client, or instead of its own. A Dialer does its own
	// TLS, as in go-redis.
	Options *redis.ClusterOptions

	// Timeout bounds the probe of one node, connecting included: 10 ms to 10 s.
	// Zero means 400 ms.
	Timeout time.Duration

	// MaxAge is how old a report may be when it is handed out again: up to
	// 1 s. Zero means 500 ms, -1 means that every call asks the nodes (calls
	// at the same time still share one round).
	MaxAge time.Duration

	// MaxLag and MaxLagBytes are what a replica may be behind before it is a
	// reason. Zero means 5 s and 16 MiB.
	MaxLag      time.Duration
	MaxLagBytes int64

	// ReplicasOptional: a shard that no node knows any replica of is as it
	// should be, and not a reason. A replica that is known and cannot take
	// over is one all the same.
	ReplicasOptional bool

	// Breakers, when set, names the nodes that this process refuses to call,
	// by announced address. It is called once a round and must not block.
	Breakers func() []string
}

// resolve checks the config and fills in the defaults.
func (c Config) resolve() (Config, error) {
	var errs []error
	bad := func(field string, value any, fix string) {
		errs = append(errs, fmt.Errorf("health: Config.%s = %v: %s", field, value, fix))
	}
	if c.Options == nil && c.Client != nil {
		c.Options = c.Client.Options()
	}
	switch {
	case c.Options == nil:
		bad("Client", nil, "give a Client or Options")
	case len(c.Options.Addrs) == 0:
		bad("Options.Addrs", "[]", "give at least one host:port")
	}
	def(&c.Timeout, 400*time.Millisecond)
	if c.Timeout < 10*time.Millisecond || c.Timeout > 10*time.Second {
		bad("Timeout", c.Timeout, "want 10ms to 10s, or 0 for 400ms")
	}
	def(&c.MaxAge, 500*time.Millisecond)
	if c.MaxAge < -1 || c.MaxAge > time.Second {
		bad("MaxAge", c.MaxAge, "want up to 1s, 0 for 500ms, or -1 for none")
	}
	def(&c.MaxLag, 5*time.Second)
	if c.MaxLag < 0 {
		bad("MaxLag", c.MaxLag, "want above 0, or 0 for 5s")
	}
	def(&c.MaxLagBytes, 16<<20)
	if c.MaxLagBytes < 0 {
		bad("MaxLagBytes", c.MaxLagBytes, "want above 0, or 0 for 16 MiB")
	}
	return c, errors.Join(errs...)
}

func def[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}
