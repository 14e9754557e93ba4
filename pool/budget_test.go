package pool_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/pool"
)

var briefsConfig = pool.Config{Addrs: []string{"127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7002"}, PoolSize: 100, MinIdleConns: 20, MaxRetries: 3}

func TestTheWorstCaseFollowsFromTheOptions(t *testing.T) {
	second := time.Second
	for name, tc := range map[string]struct {
		cfg       pool.Config
		blackHole time.Duration
		stalled   time.Duration
		runs      int
	}{
		"the brief's":      {briefsConfig, 2170 * time.Millisecond, 1370 * time.Millisecond, 4},
		"no retries":       {pool.Config{Addrs: []string{"h:1"}, MaxRetries: -1}, 500 * time.Millisecond, 300 * time.Millisecond, 1},
		"Cloud":            {pool.Config{Addrs: []string{"h:1"}, Profile: pool.Cloud}, 4170 * time.Millisecond, 4170 * time.Millisecond, 4},
		"two layers":       {pool.Config{Addrs: []string{"h:1"}, NodeRetries: 3}, 8850 * time.Millisecond, 5650 * time.Millisecond, 16},
		"tuned afterwards": {pool.Config{Addrs: []string{"h:1"}, Tune: func(o *redis.ClusterOptions) { o.DialTimeout = second; o.MaxRedirects = -1 }}, second, 300 * time.Millisecond, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := tc.cfg.WorstCase()
			if err != nil {
				t.Fatal(err)
			}
			if w.BlackHole.Time != tc.blackHole || w.Stalled.Time != tc.stalled || w.Stalled.Executions != tc.runs {
				t.Errorf("%+v", w)
			}
			if w.AllBad.Time <= w.Single() {
				t.Errorf("all bad %s is not worse than one fault %s", w.AllBad.Time, w.Single())
			}
		})
	}
}

func TestAnOpBudgetThatIsExceededIsRefused(t *testing.T) {
	cfg := briefsConfig
	cfg.OpBudget = 3 * time.Second
	_, err := pool.New(t.Context(), cfg)
	if !errors.Is(err, pool.ErrConfig) {
		t.Fatal(err)
	}
	wantInError(t, err, "OpBudget 3s", "4.17s")
}

func TestTheConnectionBudgetCountsEveryPool(t *testing.T) {
	b, err := briefsConfig.ConnBudget(3, 40)
	if err != nil {
		t.Fatal(err)
	}
	if b.PerNode != 100 || b.PerProcess != 300 || b.AtNode != 4000 || b.Total != 12000 || b.WarmPerMaster != 20 {
		t.Errorf("%+v", b)
	}
	cfg := briefsConfig
	cfg.Tune = func(o *redis.ClusterOptions) { o.PipelinePoolSize = 0; o.ReadOnly = true }
	b, err = cfg.ConnBudget(3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if b.PerNode != 110 || !strings.Contains(strings.Join(b.Apart, "\n"), "replicas") {
		t.Errorf("%+v", b)
	}
	if _, err := cfg.ConnBudget(0, 1); err == nil {
		t.Error("no master was accepted")
	}
}

func TestExplainTellsTheOriginOfEverySettingAndWhatToThinkAbout(t *testing.T) {
	cfg := pool.Config{Addrs: []string{"h:1"}, PoolSize: 50, ReadTimeout: 100 * time.Millisecond, NodeRetries: 3,
		Tune: func(o *redis.ClusterOptions) { o.MaxConcurrentDials = 2; o.WriteTimeout = 2 * time.Second }}
	e, err := cfg.Explain()
	if err != nil {
		t.Fatal(err)
	}
	origin := func(name string) string {
		i := slices.IndexFunc(e.Settings, func(s pool.Setting) bool { return s.Name == name })
		if i < 0 {
			t.Fatalf("no setting %s", name)
		}
		return e.Settings[i].Origin + " " + e.Settings[i].Value
	}
	for name, want := range map[string]string{"PoolSize": "config 50", "MaxConcurrentDials": "tune 2", "WriteTimeout": "tune 2s",
		"DialTimeout": "default 500ms", "ReadTimeout": "config 100ms", "MaxRetries": "config 3", "PipelinePoolSize": "default off"} {
		if got := origin(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	notes := strings.Join(e.Notes, "\n")
	for _, want := range []string{"ReadTimeout 100ms is below", "WriteTimeout 2s is above", "16 times", "one seed"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in\n%s", want, notes)
		}
	}
	e, err = briefsConfig.Explain()
	if err != nil || len(e.Notes) != 0 {
		t.Errorf("the brief's settings: %v %q", err, e.Notes)
	}
	// Measured: 47 s and 16 executions.
	if g := e.GoRedis; g.BlackHole.Time.Round(time.Second) != 47*time.Second || g.Stalled.Executions != 16 {
		t.Errorf("plain go-redis: %+v", g)
	}
}

func TestAURLSetsTheFieldsOfAConfig(t *testing.T) {
	c, err := pool.FromURL("rediss://app:s%40cret@h1:7000,h2?addr=h3:7002&pool_size=50&read_timeout=200ms&profile=cloud&allow_degraded=true&addr_map=10.0.0.1%3D127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Addrs, []string{"h1:7000", "h2:6379", "h3:7002"}) || c.Username != "app" || c.Password != "s@cret" || c.TLS == nil ||
		c.PoolSize != 50 || c.ReadTimeout != 200*time.Millisecond || c.Profile != pool.Cloud || !c.AllowDegraded || c.AddrMap["10.0.0.1"] != "127.0.0.1" {
		t.Errorf("%+v", c)
	}
	for bad, want := range map[string]string{
		"http://h:1":                        "redis or rediss",
		"redis://h:1/3":                     "database 0",
		"redis://h:1?pool_sise=3":           "pool_sise",
		"redis://h:1?pool_size=x":           "want a number",
		"redis://h:1?read_timeout=3":        "unit",
		"redis://h:1?min_idle_conns=200":    "more than PoolSize",
		"redis://secret@h:1":                ":password@",
		"redis://u:secret@h:x1?pool_size=3": "",
	} {
		_, err := pool.FromURL(bad)
		if !errors.Is(err, pool.ErrConfig) {
			t.Errorf("%s: %v", bad, err)
			continue
		}
		wantInError(t, err, want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is shown: %v", err)
		}
	}
}

func TestTheEnvironmentSetsTheFieldsOfAConfig(t *testing.T) {
	env := map[string]string{"RCCTL_URL": "redis://u:p@h0:1?pool_size=7", "RCCTL_CLUSTER": "h1:7000, h2", "RCCTL_PASSWORD": "x",
		"RCCTL_TLS": "true", "RCCTL_POOL_SIZE": "60", "RCCTL_MAX_RETRIES": "-1", "RCCTL_BOOT_TIMEOUT": "3s"}
	c, err := pool.FromEnv(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Addrs, []string{"h1:7000", "h2:6379"}) || c.Username != "u" || c.Password != "x" || c.TLS == nil ||
		c.PoolSize != 60 || c.MaxRetries != -1 || c.BootTimeout != 3*time.Second {
		t.Errorf("%+v", c)
	}
	env["RCCTL_TLS"], env["RCCTL_POOL_SIZE"] = "maybe", "many"
	_, err = pool.FromEnv(func(k string) string { return env[k] })
	if err == nil {
		t.Fatal("accepted")
	}
	wantInError(t, err, "RCCTL_TLS", "RCCTL_POOL_SIZE")
	if _, err := pool.FromEnv(func(string) string { return "" }); !errors.Is(err, pool.ErrConfig) {
		t.Errorf("an empty environment: %v", err)
	}
}

func FuzzFromURL(f *testing.F) {
	f.Add("redis://user:password@host:1,host2?addr=h&pool_size=3&read_timeout=1s&addr_map=a=b")
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := pool.FromURL(s); err == nil {
			if _, err := c.WorstCase(); err != nil {
				t.Errorf("accepted %q and then: %v", s, err)
			}
		}
	})
}
