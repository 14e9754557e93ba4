package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/rcctl/rcctl/pool"
	"github.com/rcctl/rcctl/sysctl"
)

// goRedis is the module of the client.
const goRedis = "github.com/redis/go-redis/v9"

// Request says what to gather.
type Request struct {
	// Reader reads this host. nil means the running system.
	Reader *sysctl.Reader
	// Client is how to reach the cluster: addresses, credentials, TLS,
	// address map. Without addresses there is no cluster.
	Client pool.Config
	// Timeout bounds reaching the cluster. Zero means 5 s.
	Timeout time.Duration
	// Interval lies between the two samples of counters. Zero means 1 s.
	Interval time.Duration
	// Shell is the process id of the calling shell. Zero means the parent of
	// this process.
	Shell int
	// Plan is copied into the snapshot; zero fields become what package pool
	// has as defaults.
	Plan Plan
	// Now is the time of the snapshot.
	Now time.Time
}

// A ClusterError tells why a cluster could not be checked at all, in one line
// that says what to do.
type ClusterError struct{ Text string }

func (e *ClusterError) Error() string { return e.Text }

// Gather reads the host, its servers and the cluster. It takes about Interval
// and at most Timeout longer. When a cluster was asked for and cannot be
// checked, or ctx ends before all is read, the error is a [*ClusterError] and
// the snapshot holds the rest.
func Gather(ctx context.Context, req Request) (*Snapshot, error) {
	req.defaults()
	r := req.Reader
	s := &Snapshot{Schema: Schema, Kind: "snapshot", Time: req.Now, Plan: req.Plan}
	s.Plan.Seeds = req.Client.Addrs
	s.Host = r.Host()
	s.Shell = r.Limits(req.Shell)
	start := time.Now()

	var cerr *ClusterError
	if len(req.Client.Addrs) == 0 {
		s.ClusterReason = "no cluster given (--cluster)"
		s.ServersReason = "no cluster and no --pid given, so no server process to look at"
	} else {
		s.Cluster, cerr = gatherCluster(ctx, req)
		if cerr != nil {
			s.Error, s.ClusterReason, s.ServersReason = cerr.Text, cerr.Text, cerr.Text
			s.Cluster = nil
		}
	}
	if err := gatherServers(r, s); err != nil {
		return s, err
	}
	var err error
	if s.Programs, s.ProgramsHidden, err = r.GoPrograms(goRedis); err != nil {
		s.ProgramsReason = err.Error()
	}
	s.Programs = slices.DeleteFunc(s.Programs, func(p sysctl.GoProgram) bool {
		return p.Deps[goRedis] == "" || p.PID == os.Getpid()
	})
	// The counters of this host need two samples as well.
	if cerr == nil {
		wait(ctx, req.Interval-time.Since(start))
	}
	s.Seconds = time.Since(start).Seconds()
	s.HostLater, s.HostLaterReason = r.Counters(0)
	for _, v := range s.Servers {
		v.LaterCounters, v.LaterReason = r.Counters(v.Process.PID)
		v.LaterCgroup = r.Cgroup(v.Process.PID)
	}
	if cerr != nil && ctx.Err() == nil {
		return s, cerr
	}
	if ctx.Err() != nil {
		// What was not read looks like what cannot be read, and that is no
		// finding: the rest must not pass for a clean bill.
		cerr = &ClusterError{"interrupted before everything was read"}
		s.Error = cerr.Text
		return s, cerr
	}
	return s, nil
}

func (req *Request) defaults() {
	if req.Reader == nil {
		req.Reader = sysctl.Live()
	}
	if req.Timeout <= 0 {
		req.Timeout = 5 * time.Second
	}
	if req.Interval <= 0 {
		req.Interval = time.Second
	}
	if req.Shell == 0 {
		req.Shell = os.Getppid()
	}
	if req.Now.IsZero() {
		req.Now = time.Now().UTC()
	}
	set := func(p *int, n int) {
		if *p == 0 {
			*p = n
		}
	}
	setD := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	p := &req.Plan
	set(&p.PoolSize, 100)
	set(&p.Instances, 1)
	set(&p.InstancesPerHost, 1)
	set(&p.DialerRetries, 1)
	set(&p.MaxRedirects, 3)
	setD(&p.DialTimeout, 500*time.Millisecond)
	setD(&p.ReadTimeout, 300*time.Millisecond)
	setD(&p.WriteTimeout, 300*time.Millisecond)
	setD(&p.IdleTimeout, 5*time.Minute)
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// gatherServers finds the server processes: --pid, or those of the cluster's
// nodes that run here.
func gatherServers(r *sysctl.Reader, s *Snapshot) error {
	s.Servers = map[string]*Server{}
	if pid := s.Plan.PID; pid != 0 {
		p := r.Process(pid)
		if p.Name == "" {
			return fmt.Errorf("--pid %d: no such process can be seen", pid)
		}
		addr := addrOf(r, s, p)
		var n *Node
		if s.Cluster != nil {
			n = s.Cluster.Nodes[addr]
		}
		s.Servers[addr] = gatherServer(r, n, addr, p)
		return nil
	}
	if s.Cluster == nil {
		return nil
	}
	s.ServersReason = "none of the cluster's servers is found on this host"
	byPID, err := r.NSPIDs()
	if err != nil {
		s.ServersReason = "server processes cannot be looked for: " + err.Error()
		return nil
	}
	told := false
	for _, n := range s.Cluster.each() {
		inner, ok := n.Info.Int("process_id")
		if !ok {
			if n.Reach.OK && !told && n.InfoReason != "" {
				s.ServersReason = "server processes are found by the process id in INFO: " + n.InfoReason
			}
			continue
		}
		told = true
		for _, pid := range byPID[int(inner)] {
			ok, err := serves(r, pid, n)
			if err != nil {
				s.ServersReason = "a server process of the cluster may run here, but cannot be identified: " + err.Error()
			}
			if ok {
				s.Servers[n.Addr] = gatherServer(r, n, n.Addr, r.Process(pid))
			}
		}
	}
	return nil
}
