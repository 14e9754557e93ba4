package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/spf13/cobra"
)

// demoMovedSlots is how many slots move under the benchmark's client.
const demoMovedSlots = 20

func newDemoCmd(a *app) *cobra.Command {
	var f labFlags
	var processes bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show slot, health, doctor and bench on a throwaway cluster",
		Long: `Starts a throwaway cluster inside this process (or of real servers, with
--processes), runs slot, health, doctor and a short bench on it while slots move,
and stops it. Nothing is left behind.`,
		Args: argsCheck(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), a, f, processes)
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&processes, "processes", false, "use real redis-server or valkey-server processes")
	return cmd
}

func runDemo(ctx context.Context, a *app, f labFlags, processes bool) (err error) {
	var b clustertest.Backend = clustertest.Embedded{}
	if processes {
		b = clustertest.Processes{Path: f.server}
	} else if f.server != "" {
		return usageError("--server goes with --processes")
	}
	c, err := f.start(ctx, a.stdout, b)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, c.Close()); err == nil {
			fmt.Fprintln(a.stdout, "\nThe cluster is stopped; nothing is left behind.")
		}
	}()
	seeds := c.Addrs()[:min(2, len(c.Addrs()))]
	cluster := strings.Join(seeds, ",")

	if err := a.show(ctx, "Which slot and which node does a key live on? Keys with one {tag} share both.",
		"slot", "--cluster", cluster, "{user:1000}:profile", "{user:1000}:settings", "user:1000:profile"); err != nil {
		return err
	}
	if err := a.show(ctx, "Is the cluster healthy, seen from here?",
		"health", "--cluster", cluster); err != nil {
		return err
	}
	if err := a.show(ctx, "What will hurt a client on this host against this cluster?",
		"doctor", "--cluster", cluster); err != nil {
		return err
	}
	moved := make(chan error, 1)
	go func() { moved <- moveSlotsUnder(ctx, c) }()
	err = a.show(ctx, fmt.Sprintf("What does the client see while %d slots move under it?", demoMovedSlots),
		"bench", "--cluster", cluster, "--rate", "1000", "--duration", "3s", "--keys", "20000")
	if merr := <-moved; ctx.Err() == nil {
		return errors.Join(err, merr)
	}
	return err
}

// show runs a command as a user would type it. Findings are part of the show;
// a command that could not do its work ends it.
func (a *app) show(ctx context.Context, question string, args ...string) error {
	fmt.Fprintf(a.stdout, "\n%s\n%s\n$ rcctl %s\n\n", strings.Repeat("-", 80), question, shellLine(args))
	code := a.run(ctx, args)
	if ctx.Err() == nil && (code == exitUsage || code == exitUnknown) {
		return fmt.Errorf("rcctl %s: exit code %d", args[0], code)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

var errInterrupted = errors.New("interrupted")

// shellLine writes arguments so that a shell reads them back.
func shellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, s := range args {
		if strings.ContainsAny(s, "{}*?$ '\"") {
			s = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
		quoted[i] = s
	}
	return strings.Join(quoted, " ")
}

// moveSlotsUnder moves the first slots of one master to another while the
// benchmark runs.
func moveSlotsUnder(ctx context.Context, c *clustertest.Cluster) error {
	masters := c.Masters()
	if len(masters) < 2 {
		return nil
	}
	select {
	case <-time.After(1500 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	slots := make([]int, demoMovedSlots)
	for i := range slots {
		slots[i] = i
	}
	return c.MoveSlots(ctx, masters[len(masters)-1], slots...)
}
