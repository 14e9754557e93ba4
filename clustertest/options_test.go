package clustertest_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
)

func TestBadOptionsAreAllNamedAtOnce(t *testing.T) {
	_, err := clustertest.Start(t.Context(), clustertest.Options{
		Masters:     101,
		Replicas:    -1,
		NodeTimeout: time.Millisecond,
		Port:        80,
		Config: map[string]string{
			"PORT": "1", "cluster-node-timeout": "5", "": "x", "save 1": "x", "maxmemory": "1\n2",
		},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"Masters is 101: use 1 to 100", "Replicas is -1: use 0 to 5", "NodeTimeout is 1ms: use at least 100ms",
		"Port is 80: use 1024", `Config["PORT"]`, "use Options.Port", "use Options.NodeTimeout", `Config[""]`,
		`Config["save 1"]`, `Config["maxmemory"] is "1\n2"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

func TestAnUnknownDirectiveIsAnError(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // the logs are kept
	for _, b := range []clustertest.Backend{clustertest.Embedded{}, clustertest.Processes{}} {
		needServer(t, b)
		_, err := clustertest.Start(t.Context(), clustertest.Options{
			Backend: b, Config: map[string]string{"no-such-directive": "1"},
		})
		if err == nil || !strings.Contains(err.Error(), "no-such-directive") {
			t.Errorf("%s: the error is %v", b.Name(), err)
		}
	}
}

// needServer skips a test of processes where Run would.
func needServer(t *testing.T, b clustertest.Backend) {
	t.Helper()
	if b.Name() == "processes" {
		must(t, clustertest.Run(t, clustertest.Options{Backend: b, Masters: 1}).Close())
	}
}

func TestAMissingBinaryIsNamed(t *testing.T) {
	_, err := clustertest.Start(t.Context(), clustertest.Options{
		Backend: clustertest.Processes{Path: "/no/such/server"},
	})
	if !errors.Is(err, clustertest.ErrNoServer) || !strings.Contains(err.Error(), "/no/such/server") {
		t.Errorf("with a bad path: %v", err)
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	_, err = clustertest.Start(t.Context(), clustertest.Options{
		Backend: clustertest.Processes{Path: os.Args[0]},
	})
	if err == nil || errors.Is(err, clustertest.ErrNoServer) || !strings.Contains(err.Error(), os.Args[0]) {
		t.Errorf("with the path of something else: %v", err)
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
	t.Setenv("PATH", t.TempDir())
	_, err = clustertest.Start(t.Context(), clustertest.Options{Backend: clustertest.Processes{}})
	if !errors.Is(err, clustertest.ErrNoServer) || !strings.Contains(err.Error(), "Embedded") {
		t.Errorf("with an empty PATH: %v", err)
	}
}
