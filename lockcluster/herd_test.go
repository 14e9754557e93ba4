package lockcluster_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rcctl/rcctl/lockcluster"
)

func TestAColdHerdOfTenProcessesLoadsOnce(t *testing.T) {
	cluster := sharedCluster(t)
	for _, key := range []string{uniqueKey("herd"), "foo}bar"} {
		newClient(t, cluster).Del(t.Context(), key)
		ps := startHerd(t, cluster, 10, job{Key: key, Callers: 20, Load: 350 * time.Millisecond, Value: "v"})
		r := runHerd(t, ps)
		t.Logf("%d calls: %d loads, %d GET, %d other commands, sources %v", r.Calls, r.Loads, r.Gets, r.Others, r.Sources)
		if len(r.Errors) > 0 || r.Values["v"] != 200 || r.Loads != 1 {
			t.Errorf("%d loads, values %v, errors %v", r.Loads, r.Values, r.Errors)
		}
		// One GET a caller, and one more for each process that was woken.
		if r.Gets > r.Calls+len(ps)-1 || r.Others > 35 {
			t.Errorf("%d GET and %d other commands, want at most %d and 35", r.Gets, r.Others, r.Calls+len(ps)-1)
		}
	}
}

func TestEachExpiryCostsOneLoadAndNobodyWaits(t *testing.T) {
	took := 10 * time.Second
	switch {
	case os.Getenv("LOCKCLUSTER_LONG") != "":
		took = 30 * time.Second
	case testing.Short():
		took = 5 * time.Second
	}
	cluster := sharedCluster(t)
	cfg := settings{Fresh: 2 * time.Second, Jitter: lockcluster.Off, Beta: lockcluster.Off}
	ps := startHerd(t, cluster, 8, job{Key: uniqueKey("expiry"), Config: cfg, Callers: 50, Load: 450 * time.Millisecond, Value: "v", For: took, Pause: 20 * time.Millisecond})
	r := runHerd(t, ps)
	t.Logf("%d calls in %s: %d loads, sources %v", r.Calls, took, r.Loads, r.Sources)
	// A cycle is the fresh time, up to one pause until a reader comes, and the load.
	most := 1 + int(took/(2450*time.Millisecond)) + 1
	least := int(took/(2*time.Second+450*time.Millisecond+200*time.Millisecond)) - 1
	if r.Loads > most || r.Loads < least || len(r.Errors) > 0 || r.Waited > 0 {
		t.Errorf("%d loads, want %d to %d; %d callers waited; errors %v", r.Loads, least, most, r.Waited, r.Errors)
	}
}

func TestALeaderKilledIsReplacedWithinItsLease(t *testing.T) {
	cluster := sharedCluster(t)
	j := job{Key: uniqueKey("killed"), Callers: 1, Load: 3 * time.Second, Value: "v"}
	leader := startHerd(t, cluster, 1, j)[0]
	leader.start(t)
	leader.expect(t, "loading")
	j.Load = 20 * time.Millisecond
	others := startHerd(t, cluster, 3, j)
	for _, p := range others {
		p.start(t)
	}
	// Let the others find the lease held, then kill.
	client := newClient(t, cluster)
	c := newCache(t, client, lockcluster.Config{})
	eventually(t, 5*time.Second, "somebody waits", func() bool {
		rec, _, _ := c.Peek(t.Context(), j.Key)
		return rec.Waited
	})
	if err := leader.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	loads := 0
	for _, p := range others {
		r := p.report(t)
		loads += r.Loads
		if r.Values["v"] != 1 {
			t.Errorf("got %+v", r)
		}
	}
	took := time.Since(killed)
	t.Logf("answered %s after the kill", took)
	if loads != 1 || took > 1100*time.Millisecond+500*time.Millisecond {
		t.Errorf("%d loads, %s after the kill; want 1 within the lease (1 s) + 100 ms", loads, took)
	}
}

func TestClocksThatAreTenMinutesOffChangeNothing(t *testing.T) {
	cluster := sharedCluster(t)
	key := uniqueKey("clocks")
	j := job{Key: key, Callers: 5, Load: 50 * time.Millisecond, Value: "v", For: 3 * time.Second, Pause: 10 * time.Millisecond,
		Config: settings{Fresh: time.Second, Jitter: lockcluster.Off, Beta: lockcluster.Off}}
	var ps []*process
	for _, shift := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
		j.Shift = shift
		ps = append(ps, startHerd(t, cluster, 1, j)...)
	}
	r := runHerd(t, ps)
	t.Logf("%d calls: %d loads, sources %v", r.Calls, r.Loads, r.Sources)
	if r.Loads < 3 || r.Loads > 4 || len(r.Errors) > 0 || r.Waited > 0 {
		t.Errorf("%d loads, want 3 in 3 s; %d waited, errors %v", r.Loads, r.Waited, r.Errors)
	}
}

func TestFiftyWaitingProcessesAreWokenWithinMilliseconds(t *testing.T) {
	if testing.Short() {
		t.Skip("50 processes")
	}
	cluster := sharedCluster(t)
	client := newClient(t, cluster)
	key := uniqueKey("lateness")
	c := newCache(t, client, lockcluster.Config{})
	ps := startHerd(t, cluster, 50, job{Key: key, Callers: 1, Load: time.Second, Value: "wrong"})
	filled := make(chan time.Duration, 1)
	running, release := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = c.Get(t.Context(), key, slowUntil(running, release))
		filled <- monotonic()
	}()
	<-running
	for _, p := range ps {
		p.start(t)
	}
	// Beside them, 50 that poll every 100 ms.
	polled := make(chan time.Duration, 50)
	for range 50 {
		go func() {
			<-time.After(rand.N(100 * time.Millisecond))
			for {
				if raw, err := client.Get(t.Context(), key).Bytes(); err == nil && len(raw) > lockcluster.HeaderLen {
					polled <- monotonic()
					return
				}
				<-time.After(100 * time.Millisecond)
			}
		}()
	}
	eventually(t, 10*time.Second, "they wait", func() bool {
		rec, _, _ := c.Peek(t.Context(), key)
		return rec.Waited
	})
	<-time.After(500 * time.Millisecond) // all of them
	close(release)
	at := <-filled
	var late, polls []time.Duration
	for _, p := range ps {
		r := p.report(t)
		if r.Loads != 0 || r.Values["v"] != 1 {
			t.Fatalf("got %+v", r)
		}
		late = append(late, r.Late[0]-at)
	}
	for range 50 {
		polls = append(polls, <-polled-at)
	}
	slices.Sort(late)
	slices.Sort(polls)
	t.Logf("after the fill: p50 %s, p90 %s, max %s; polling each 100 ms: p50 %s, p90 %s, max %s", late[25], late[45], late[49], polls[25], polls[45], polls[49])
	if late[25] > polls[25] {
		t.Errorf("p50 %s, polling %s", late[25], polls[25])
	}
}

// The same with 50 instances in one process, each with a client and a
// subscription of its own: what is left when the operating system has not 50
// processes to schedule.
func TestFiftyWaitingInstancesAreWokenWithinMilliseconds(t *testing.T) {
	if testing.Short() {
		t.Skip("50 clients")
	}
	cs, _ := instances(t, 51, lockcluster.Config{})
	for _, c := range cs {
		eventually(t, 10*time.Second, "subscribed", func() bool { return c.Stats().Subscribed })
		_, _ = c.Get(t.Context(), uniqueKey("connect"), (&constant{}).load)
	}
	var late []time.Duration
	for range 5 {
		key := uniqueKey("lateness")
		running, release := make(chan struct{}), make(chan struct{})
		filled := make(chan time.Duration, 1)
		go func() {
			_, _ = cs[0].Get(t.Context(), key, slowUntil(running, release))
			filled <- monotonic()
		}()
		<-running
		answered := make(chan time.Duration, 50)
		for _, c := range cs[1:] {
			go func() {
				_, err := c.Get(t.Context(), key, nil)
				if err != nil {
					t.Error(err)
				}
				answered <- monotonic()
			}()
		}
		<-time.After(time.Second)
		close(release)
		at := <-filled
		for range 50 {
			late = append(late, <-answered-at)
		}
	}
	slices.Sort(late)
	t.Logf("after the fill: p50 %s, p90 %s, p99 %s, max %s", late[125], late[225], late[247], late[249])
	if late[125] > 30*time.Millisecond {
		t.Errorf("p50 %s", late[125])
	}
}
