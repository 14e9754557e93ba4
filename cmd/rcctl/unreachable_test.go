package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
)

// Each command that talks to a cluster must end in time with one line that
// says what to do, whatever it finds at the address.
func TestAnAddressThatIsNoUsableClusterEndsInOneHelpfulLine(t *testing.T) {
	plain := startServer(t)
	locked := startServer(t, "--cluster-enabled", "yes", "--requirepass", "right")
	secure := startServer(t, append([]string{"--cluster-enabled", "yes"}, tlsArgs(t)...)...)
	for _, tc := range []struct {
		name string
		args []string
		want []string // one of these must be part of the message
	}{
		{"a plain server", []string{"--cluster", plain}, []string{"redis.NewClient"}},
		{"no password", []string{"--cluster", locked}, []string{"RCCTL_PASSWORD", "--password-file"}},
		{"a wrong password", []string{"--cluster", locked, "--password-file", fileWith(t, "wrong")}, []string{"password"}},
		{"TLS against a plain port", []string{"--cluster", plain, "--tls"}, []string{"without --tls", "plain"}},
		{"plain against a TLS port", []string{"--cluster", secure}, []string{"--tls"}},
		{"nothing listening", []string{"--cluster", freeAddr(t)}, []string{"refused"}},
		{"a black hole", []string{"--cluster", blackHole(t)}, []string{"timeout", "no answer", "not answer", "deadline", "in time"}},
	} {
		for _, command := range [][]string{{"health"}, {"topology"}, {"doctor"}, {"bench", "--duration", "1s"}, {"slot", "somekey"}} {
			t.Run(tc.name+"/"+command[0], func(t *testing.T) {
				t.Parallel()
				args := append(append([]string{}, command...), tc.args...)
				args = append(args, "--timeout", "2s", "-o", "json")
				began := time.Now()
				r := runApp(t.Context(), args...)
				if d := time.Since(began); d > 4*time.Second {
					t.Errorf("took %v with --timeout 2s", d)
				}
				if r.code != exitUnknown {
					t.Errorf("exit code %d, want %d\nstdout %s", r.code, exitUnknown, r.stdout)
				}
				if n := strings.Count(r.stderr, "\n"); n != 1 {
					t.Errorf("%d lines on stderr, want 1: %q", n, r.stderr)
				}
				found := false
				for _, w := range tc.want {
					found = found || strings.Contains(r.stderr, w)
				}
				if !found {
					t.Errorf("%q contains none of %q", r.stderr, tc.want)
				}
				if r.stdout != "" && !json.Valid([]byte(r.stdout)) {
					t.Errorf("stdout is not JSON: %q", r.stdout)
				}
			})
		}
	}
}

// startServer starts one redis-server on a loopback address for a test.
func startServer(t *testing.T, args ...string) (addr string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("RCCTL_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skip("needs redis-server")
	}
	addr = freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	dir := t.TempDir()
	portArgs := []string{"--port", port}
	for i, a := range args {
		if a == "--tls-port" {
			args[i+1] = port
			portArgs = []string{"--port", "0"}
		}
	}
	log := filepath.Join(dir, "log")
	cmd := exec.Command(path, append(append(portArgs, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--logfile", log), args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
			return addr
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log)
			t.Fatalf("redis-server did not start: %v\n%s", err, text)
		}
	}
}

// tlsArgs makes a server listen with TLS, on a certificate of its own.
func tlsArgs(t *testing.T) []string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := fileWith(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	keyFile := fileWith(t, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})))
	return []string{"--tls-port", "0", "--tls-cert-file", cert, "--tls-key-file", keyFile, "--tls-auth-clients", "no", "--tls-ca-cert-file", cert}
}

func fileWith(t *testing.T, text string) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// freeAddr is an address where nothing listens, with a port below the
// ephemeral range and a free bus port above it.
func freeAddr(t *testing.T) string {
	t.Helper()
	for port := 20000 + os.Getpid()%2000; port < 22700; port++ {
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		bus, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+10000))
		l.Close()
		if err == nil {
			bus.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

// blackHole accepts connections and never answers.
func blackHole(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestADeadMasterWithoutReplicaFailsTheDoctorAndNamesItsSlots(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{
		Backend: clustertest.Processes{},
		Config:  map[string]string{"cluster-require-full-coverage": "no"},
	})
	seed := c.Addrs()[0]
	if r := runApp(t.Context(), "doctor", "--cluster", seed, "-o", "json"); r.code != exitOK {
		t.Fatalf("healthy cluster: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	dead := c.Masters()[1]
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json"} {
		var r result
		waitFor(t, "the doctor to see the dead master", func() bool {
			r = runApp(t.Context(), "doctor", "--cluster", seed, "-o", format)
			return r.code == exitFindings && strings.Contains(r.stdout, "5461-10922")
		})
		for _, want := range []string{dead.Addr(), "5461-10922"} {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("-o %s: %q is not named:\n%s", format, want, r.stdout)
			}
		}
		if format == "json" {
			checkDoctorJSON(t, r.stdout)
		}
	}
	if r := runApp(t.Context(), "health", "--cluster", seed); r.code != exitFindings || !strings.Contains(r.stdout, "5461-10922") {
		t.Errorf("health: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

func checkDoctorJSON(t *testing.T, out string) {
	t.Helper()
	var report struct {
		Schema   string
		Summary  map[string]int
		Findings []struct{ ID, Outcome, Severity, Scope, Subject, Current, Required, Why, Fix, Reason string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if report.Schema != "rcctl.doctor.v1" {
		t.Errorf("schema %q", report.Schema)
	}
	count := map[string]int{}
	for _, f := range report.Findings {
		count[f.Outcome]++
		if f.Outcome == "fail" && (f.Fix == "" || f.Why == "") {
			t.Errorf("%s fails without why or fix: %+v", f.ID, f)
		}
		if f.Outcome == "skipped" && f.Reason == "" {
			t.Errorf("%s is skipped without a reason", f.ID)
		}
	}
	for _, k := range []string{"fail", "warn", "info", "ok", "skipped", "broken"} {
		if n, ok := report.Summary[k]; !ok || n != count[k] {
			t.Errorf("summary.%s is %d (%v), the findings have %d", k, n, ok, count[k])
		}
	}
}

func TestTheDemoWithRealServersLeavesNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole demo")
	}
	clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}}).Close() // skips without a server
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r := runApp(ctx, "demo", "--processes")
	if r.code != exitOK {
		t.Fatalf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	for _, want := range []string{"rcctl slot", "rcctl health", "rcctl doctor", "rcctl bench"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the output does not show %q", want)
		}
	}
}

// waitFor polls a condition until it holds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAnInterruptedDemoSaysSoAndNothingElse(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	r := runApp(ctx, "demo")
	if r.code != exitUnknown || !strings.HasSuffix(r.stderr, "rcctl: interrupted\n") || strings.Contains(r.stderr, "canceled") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}
