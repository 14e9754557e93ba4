package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/spf13/cobra"
)

// labFlags say which throwaway cluster to start.
type labFlags struct {
	masters, replicas int
	port              int
	server            string
}

func (f *labFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVar(&f.masters, "masters", 3, "number of masters")
	fl.IntVar(&f.replicas, "replicas", 1, "replicas per master")
	fl.StringVar(&f.server, "server", "", "`path` of the redis-server or valkey-server to run (default: from PATH)")
}

// check says what is wrong with the flags, or nil. A port of 0 leaves the choice
// to the cluster.
func (f *labFlags) check() error {
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{{"--masters", f.masters, 1, 100}, {"--replicas", f.replicas, 0, 5}} {
		if n.value < n.min || n.value > n.max {
			return usageError("%s %d: want %d to %d", n.flag, n.value, n.min, n.max)
		}
	}
	last := 32768 - f.masters*(1+f.replicas)
	if f.port != 0 && (f.port < 1024 || f.port > last) {
		return usageError("--port %d: want 1024 to %d, below the ephemeral ports, or 0 for free ports", f.port, last)
	}
	return nil
}

// start starts the cluster and says how long that took.
func (f *labFlags) start(ctx context.Context, w io.Writer, b clustertest.Backend) (*clustertest.Cluster, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	began := time.Now()
	c, err := clustertest.Start(ctx, clustertest.Options{
		Backend: b, Masters: f.masters, Replicas: f.replicas, Port: f.port,
	})
	var listen *net.OpError
	switch {
	case err == nil:
	case errors.Is(err, clustertest.ErrNoServer):
		where := "on PATH"
		if f.server != "" {
			where = "at " + f.server
		}
		return nil, fmt.Errorf("%w %s: install one, name it with --server, or use the embedded cluster (rcctl lab up --embedded, rcctl demo)",
			clustertest.ErrNoServer, where)
	case errors.As(err, &listen) && errors.Is(listen, syscall.EADDRINUSE) && f.port != 0:
		return nil, fmt.Errorf("--port %d: choose another, or 0 for free ports: %w", f.port, listen)
	default:
		return nil, err
	}
	fmt.Fprintf(w, "A cluster of %d masters and %d replicas (%s) is up after %s.\n",
		f.masters, f.masters*f.replicas, b.Name(), time.Since(began).Round(time.Millisecond))
	return c, nil
}

func newLabCmd(a *app) *cobra.Command {
	lab := &cobra.Command{
		Use:   "lab",
		Short: "Keep a throwaway cluster running on this machine",
		Args:  argsCheck(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var f labFlags
	var embedded bool
	up := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, print its addresses, stop it on Ctrl-C",
		Long: `Starts a cluster of real servers (or, with --embedded, inside this process) on
loopback, prints its addresses and keeps it until Ctrl-C. The data are gone
afterwards.`,
		Example: "  rcctl lab up\n  rcctl lab up --embedded --masters 5 --replicas 0 --port 7100",
		Args:    argsCheck(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLabUp(cmd.Context(), a, f, embedded)
		},
	}
	f.register(up)
	up.Flags().IntVar(&f.port, "port", 7000, "first data `port`, on 127.0.0.1; the cluster bus takes the ports 10000 above; 0: free ones")
	up.Flags().BoolVar(&embedded, "embedded", false, "run the cluster inside this process: nothing to install")
	lab.AddCommand(up)
	return lab
}

func runLabUp(ctx context.Context, a *app, f labFlags, embedded bool) (err error) {
	var b clustertest.Backend = clustertest.Processes{Path: f.server}
	if embedded {
		if f.server != "" {
			return usageError("--server goes with real servers, not with --embedded")
		}
		b = clustertest.Embedded{}
	}
	c, err := f.start(ctx, a.stderr, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	fmt.Fprintln(a.stdout, strings.Join(c.Addrs(), ","))
	fmt.Fprintf(a.stderr, "Try:  rcctl doctor --cluster %s\nCtrl-C stops it.\n", c.Addrs()[0])
	<-ctx.Done()
	return nil
}
