package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/rcctl/rcctl/health"
	"github.com/rcctl/rcctl/metrics"
	"github.com/spf13/cobra"
)

type exporterOptions struct {
	cluster   clusterFlags
	listen    string
	webConfig string
	name      string
	health    bool
	once      bool
	textfile  string
}

func newExporterCmd(a *app) *cobra.Command {
	o := &exporterOptions{}
	cmd := &cobra.Command{
		Use:   "exporter",
		Short: "Serve metrics of a cluster's servers to Prometheus",
		Long: `Serves metrics of all nodes of a cluster under /metrics: memory, clients, hits
and misses, processor time, rejected connections, error replies, replication.
One exporter serves a whole cluster and finds its nodes by itself; applications
need no change. A scrape sends INFO and CLUSTER SHARDS to each node, never CLIENT
LIST. The user needs +info and +cluster|shards (before Redis 7 +cluster|slots).

With --health it also exports the verdict of rcctl health, with its reasons;
that asks each node four more commands a scrape, on connections of its own, and
needs +cluster|nodes, +cluster|slots and +cluster|info.

--web-config-file turns on TLS and basic auth. The file is the one that all
Prometheus exporters take:

  tls_server_config: {cert_file: server.crt, key_file: server.key}
  basic_auth_users: {prometheus: <bcrypt hash>}

With --once it prints the metrics and ends, for node_exporter's textfile
collector; --textfile FILE writes them there in one step.

Names and meanings are in docs/metrics.md, alerts in deploy/prometheus.

Exit codes: 0 ok, 2 wrong usage, 3 cannot listen; with --once: no node told
about the cluster (the metrics say so too).`,
		Example: `  rcctl exporter --cluster 10.0.0.1:6379,10.0.0.2:6379 --listen :9121
  rcctl exporter --cluster 127.0.0.1:7000 --once
  rcctl exporter --once --textfile /var/lib/node_exporter/redis.prom`,
		Args: argsCheck(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runExporter(cmd.Context(), a, o) },
	}
	o.cluster.register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.listen, "listen", ":9121", "`address` to serve on")
	fl.StringVar(&o.webConfig, "web-config-file", "", "`file` that turns on TLS and basic auth")
	fl.StringVar(&o.name, "name", "default", "value of the `label` cluster")
	fl.BoolVar(&o.health, "health", false, "also export the verdict and its reasons")
	fl.BoolVar(&o.once, "once", false, "print the metrics and end")
	fl.StringVar(&o.textfile, "textfile", "", "with --once, write to this `file` instead, in one step")
	return cmd
}

func runExporter(ctx context.Context, a *app, o *exporterOptions) error {
	if o.textfile != "" && !o.once {
		return usageError("--textfile %s: goes with --once", o.textfile)
	}
	reg, closeAll, err := o.registry(a)
	if err != nil {
		return err
	}
	defer closeAll()
	if o.once {
		return o.printOnce(a, reg)
	}
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return o.serve(ctx, a, reg)
}

// registry has the collectors of the cluster.
func (o *exporterOptions) registry(a *app) (*prometheus.Registry, func(), error) {
	cfg, err := o.cluster.config(a)
	if err != nil {
		return nil, nil, err
	}
	servers, err := metrics.Servers(metrics.ServersConfig{
		Name: o.name, Options: probeOptions(cfg), Timeout: o.nodeTimeout(), Logger: o.logger(a),
	})
	if err != nil {
		return nil, nil, usageError("%w", err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(servers)
	closeAll := func() { _ = servers.Close() }
	if o.health {
		h, err := health.New(health.Config{Options: probeOptions(cfg), Timeout: o.nodeTimeout()})
		if err != nil {
			closeAll()
			return nil, nil, usageError("%w", err)
		}
		reg.MustRegister(metrics.Health(o.name, h))
		closeAll = func() { _ = servers.Close(); _ = h.Close() }
	}
	return reg, closeAll, nil
}

// nodeTimeout bounds one node's answer: a scrape may take three of them, and
// Prometheus gives up after 10 s.
func (o *exporterOptions) nodeTimeout() time.Duration {
	return min(max(o.cluster.timeout/4, 10*time.Millisecond), time.Second)
}

func (o *exporterOptions) logger(a *app) *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, nil))
}

func (o *exporterOptions) printOnce(a *app, reg *prometheus.Registry) error {
	families, err := reg.Gather()
	if err != nil {
		return err
	}
	known := false
	var b bytes.Buffer
	for _, f := range families {
		if f.GetName() == "rcctl_cluster_topology_known" {
			known = f.GetMetric()[0].GetGauge().GetValue() == 1
		}
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return err
		}
	}
	if o.textfile != "" {
		err = writeWhole(o.textfile, b.Bytes())
	} else {
		_, err = b.WriteTo(a.stdout)
	}
	if err != nil {
		return err
	}
	if !known {
		return errors.New("no node told about the cluster")
	}
	return nil
}

func (o *exporterOptions) serve(ctx context.Context, a *app, reg *prometheus.Registry) error {
	if err := web.Validate(o.webConfig); err != nil {
		return usageError("--web-config-file %s: %w", o.webConfig, err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", o.listen, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.Handle("/livez", health.Livez())
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "rcctl exporter: metrics are at /metrics")
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		bounded, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = srv.Shutdown(bounded)
	})
	defer stop()
	log := o.logger(a)
	log.Info("rcctl exporter", "url", "http://"+l.Addr().String()+"/metrics")
	quiet := slog.New(slog.DiscardHandler)
	err = web.Serve(l, srv, &web.FlagConfig{WebConfigFile: &o.webConfig}, quiet)
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return err
}

// writeWhole writes a file that readers see whole or not at all.
func writeWhole(name string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
