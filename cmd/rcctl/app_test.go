package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

func TestMain(m *testing.M) {
	logging.Disable() // as main does
	os.Exit(m.Run())
}

func TestWrongCommandLinesExitWithTwoAndNameTheFlag(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string // must be part of the message
	}{
		{[]string{"nope"}, `unknown command "nope"`},
		{[]string{"--nope"}, "--nope"},
		{[]string{"version", "extra"}, "extra"},
		{[]string{"version", "-o", "xml"}, "text, json"},
		{[]string{"lab", "up", "--port", "80"}, "--port 80"},
		{[]string{"lab", "up", "--masters", "0"}, "--masters 0"},
		{[]string{"lab", "up", "--replicas", "-1", "--embedded"}, "--replicas -1"},
		{[]string{"lab", "up", "--embedded", "--server", "/bin/true"}, "--server"},
		{[]string{"demo", "--server", "/bin/true"}, "--processes"},
		{[]string{"health"}, "RCCTL_CLUSTER"},
		{[]string{"health", "--cluster", "localhost"}, "host:port"},
		{[]string{"health", "--cluster", "localhost:99999"}, "99999"},
		{[]string{"health", "--cluster", "127.0.0.1:7000", "--timeout", "0s"}, "--timeout"},
		{[]string{"health", "--cluster", "127.0.0.1:7000", "--addr-map", "x"}, "announced=dialed"},
		{[]string{"health", "--cluster", "127.0.0.1:7000", "--password-file", "/nonexistent"}, "--password-file"},
		{[]string{"health", "--cluster", "127.0.0.1:7000", "--tls-ca", "/nonexistent"}, "--tls-ca"},
		{[]string{"health", "--cluster", "127.0.0.1:7000", "--tls-key", "k"}, "--tls-cert"},
	} {
		t.Run(strings.Join(tc.args, "_"), func(t *testing.T) {
			r := runApp(t.Context(), tc.args...)
			if r.code != exitUsage {
				t.Errorf("exit code %d, want %d", r.code, exitUsage)
			}
			if !strings.Contains(r.stderr, tc.want) {
				t.Errorf("stderr %q does not contain %q", r.stderr, tc.want)
			}
			if r.stdout != "" {
				t.Errorf("stdout %q, want nothing", r.stdout)
			}
		})
	}
}

func TestTheHelpGroupsTheCommands(t *testing.T) {
	r := runApp(t.Context(), "--help")
	if r.code != exitOK {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	last := -1
	for _, want := range []string{"Main:", "doctor", "Cluster:", "health", "Development:", "demo"} {
		i := strings.Index(r.stdout, "\n"+want)
		if i < 0 {
			i = strings.Index(r.stdout, "\n  "+want)
		}
		if i <= last {
			t.Errorf("%q is missing or in the wrong place:\n%s", want, r.stdout)
		}
		last = i
	}
}

func TestVersionNamesGoAndGoRedis(t *testing.T) {
	r := runApp(t.Context(), "version", "-o", "json")
	var v map[string]string
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Fatalf("%v: %q", err, r.stdout)
	}
	for _, k := range []string{"version", "commit", "go", "go_redis"} {
		if v[k] == "" {
			t.Errorf("%s is empty in %v", k, v)
		}
	}
}

func TestSecretsAndSeedsComeFromTheEnvironment(t *testing.T) {
	env := map[string]string{"RCCTL_CLUSTER": "10.0.0.1:7000, 10.0.0.2:7000", "REDISCLI_AUTH": "second"}
	a := &app{getenv: func(k string) string { return env[k] }}
	f := clusterFlags{timeout: 1}
	c, err := f.config(a)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Addrs, []string{"10.0.0.1:7000", "10.0.0.2:7000"}) || c.Password != "second" {
		t.Errorf("got addrs %q, password %q", c.Addrs, c.Password)
	}
	env["RCCTL_PASSWORD"] = "first"
	if c, _ = f.config(a); c.Password != "first" {
		t.Errorf("RCCTL_PASSWORD does not come before REDISCLI_AUTH: %q", c.Password)
	}
	f.passwordFile = filepath.Join(t.TempDir(), "pw")
	if err := os.WriteFile(f.passwordFile, []byte("from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, _ = f.config(a); c.Password != "from file" {
		t.Errorf("the file does not come before the environment: %q", c.Password)
	}
	f.addrs = []string{"127.0.0.1:1"}
	if c, _ = f.config(a); !slices.Equal(c.Addrs, []string{"127.0.0.1:1"}) {
		t.Errorf("--cluster does not come before RCCTL_CLUSTER: %q", c.Addrs)
	}
}

func TestShellLineReadsBack(t *testing.T) {
	args := []string{"slot", "{user:1000}:profile", "plain", "a b"}
	if got := shellWords(shellLine(args)); !slices.Equal(got, args) {
		t.Errorf("%q became %q", args, got)
	}
}

func TestAUserWithoutAPasswordIsRefusedNotTakenForTheDefaultUser(t *testing.T) {
	for _, command := range []string{"doctor", "health", "topology", "bench", "skew"} {
		r := runApp(t.Context(), command, "--cluster", "127.0.0.1:1", "--user", "reader")
		if r.code != exitUsage || !strings.Contains(r.stderr, "--user reader") || !strings.Contains(r.stderr, "RCCTL_PASSWORD") {
			t.Errorf("%s: exit code %d, %s", command, r.code, r.stderr)
		}
	}
}

func TestAnAddressMapTakesBracketedHosts(t *testing.T) {
	m, err := parseAddrMap([]string{"node.example=[::1]", "[fd00::1]=10.0.0.1", "[fd00::2]:7000=[::1]:7000"})
	if err != nil || m["node.example"] != "::1" || m["fd00::1"] != "10.0.0.1" || m["[fd00::2]:7000"] != "[::1]:7000" {
		t.Errorf("%v, %v", m, err)
	}
}
