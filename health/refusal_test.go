package health_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/health"
	"github.com/redis/go-redis/v9"
)

func TestAWrongPasswordIsAuth(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	for _, m := range c.Masters() {
		if err := m.Client().Do(t.Context(), "acl", "setuser", "app", "on", ">right", "~*", "+@all").Err(); err != nil {
			t.Fatal(err)
		}
	}
	o := c.ClientOptions()
	o.Username, o.Password = "app", "wrong"
	h, err := health.New(health.Config{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r := report(t, h)
	if r.Verdict != health.Down || r.Known || !r.Has(health.CodeAuth) || !strings.Contains(r.Reasons[0].Detail, "WRONGPASS") {
		t.Error(dump(r))
	}
	if strings.Contains(dump(r), `"wrong"`) {
		t.Error("the password is in the report")
	}
}

func TestAUserWithoutRightsIsAuthAndTheRightsAreNamed(t *testing.T) {
	t.Parallel()
	c := processes(t, 0)
	for _, m := range c.Masters() {
		if err := m.Client().Do(t.Context(), "acl", "setuser", "app", "on", ">right", "~*", "+hello", "+auth", "+get", "+cluster|nodes", "+cluster|slots").Err(); err != nil {
			t.Fatal(err)
		}
		if err := m.Client().Do(t.Context(), "acl", "setuser", "bare", "on", ">right", "+hello", "+ping").Err(); err != nil {
			t.Fatal(err)
		}
	}
	for user, known := range map[string]bool{"app": true, "bare": false} {
		o := c.ClientOptions()
		o.Username, o.Password = user, "right"
		h, err := health.New(health.Config{Options: o, ReplicasOptional: true})
		if err != nil {
			t.Fatal(err)
		}
		r := report(t, h)
		if x := reason(r, health.CodeAuth); r.Known != known || !strings.Contains(x.Fix, "+info") || (known && r.Verdict != health.Degraded) {
			t.Errorf("%s: %s", user, dump(r))
		}
		h.Close()
	}
}

func TestAServerThatLoadsIsLoading(t *testing.T) {
	t.Parallel()
	c := processes(t, 1)
	h := newChecker(t, c, nil)
	report(t, h)
	m := c.Masters()[0]
	if err := m.Client().Do(t.Context(), "debug", "populate", 100000, "{06S}:", 100).Err(); err != nil {
		t.Fatal(err)
	}
	// It loads its data again, with a pause after every key, and answers often
	// meanwhile.
	for name, value := range map[string]string{"key-load-delay": "200", "loading-process-events-interval-bytes": "1024"} {
		if err := m.Client().ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _ = m.Client().Do(context.WithoutCancel(t.Context()), "debug", "reload").Err() }()
	// Before it loads it saves, which no probe can tell from a hang.
	var r *health.Report
	eventually(t, 20*time.Second, "loading", func() bool {
		r = report(t, h)
		return r.Has(health.CodeLoading)
	})
	if x := reason(r, health.CodeLoading); x.Node != m.Addr() || r.Verdict != health.Down {
		t.Error(dump(r))
	}
}

func TestAServerThatIsNoClusterNode(t *testing.T) {
	t.Parallel()
	addr := plainServer(t, "-ERR This instance has cluster support disabled\r\n")
	h, err := health.New(health.Config{Options: &redis.ClusterOptions{Addrs: []string{addr}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r := report(t, h)
	if r.Known || r.Verdict != health.Down || r.Reasons[0].Code != health.CodeNotACluster || r.Reasons[0].Node != addr {
		t.Error(dump(r))
	}
}

func TestAnEndpointThatIsNotAnnounced(t *testing.T) {
	t.Parallel()
	c := processes(t, 1)
	for _, n := range c.Nodes() {
		if err := n.Client().ConfigSet(t.Context(), "cluster-preferred-endpoint-type", "unknown-endpoint").Err(); err != nil {
			t.Fatal(err)
		}
	}
	h, err := health.New(health.Config{Options: c.ClientOptions()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r := report(t, h)
	if !r.Has(health.CodeEndpointUnknown) || r.Verdict != health.Degraded || r.Slots.Served != 16384 {
		t.Error(dump(r))
	}
}
