package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
)

// startExporter runs the exporter until the test ends and returns its URL.
func startExporter(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	pr, pw := io.Pipe()
	code := make(chan int, 1)
	go func() {
		a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: pw, getenv: func(string) string { return "" }}
		code <- a.run(ctx, append([]string{"exporter", "--listen", "127.0.0.1:0"}, args...))
		pw.Close()
	}()
	lines := bufio.NewScanner(pr)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "url="); ok {
			go func() { _, _ = io.Copy(io.Discard, pr) }()
			t.Cleanup(func() {
				cancel()
				if got := <-code; got != exitOK {
					t.Errorf("the exporter ended with exit code %d", got)
				}
			})
			return strings.TrimSpace(rest)
		}
		t.Log(lines.Text())
	}
	cancel()
	t.Fatalf("the exporter did not start: exit code %d", <-code)
	return ""
}

func get(t *testing.T, c *http.Client, url, user, password string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestTheExporterServesServersAndTheVerdict(t *testing.T) {
	t.Parallel()
	c := healthCluster(t)
	url := startExporter(t, "--cluster", c.Addrs()[0], "--name", "shop", "--health")
	code, text := get(t, http.DefaultClient, url, "", "")
	for _, want := range []string{
		`rcctl_server_up{cluster="shop",node="` + c.Addrs()[5] + `"} 1`,
		`rcctl_cluster_slots{cluster="shop",state="served"} 16384`,
		`rcctl_health_slots{cluster="shop",state="served"} 16384`,
		"go_goroutines",
	} {
		if code != 200 || !strings.Contains(text, want) {
			t.Errorf("%d: no %q in\n%s", code, want, text)
		}
	}
	for path, want := range map[string]int{"/livez": 200, "/": 200, "/nope": 404} {
		if code, _ := get(t, http.DefaultClient, strings.TrimSuffix(url, "/metrics")+path, "", ""); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

func TestTheExporterPrintsOnceAndWritesATextfileWhole(t *testing.T) {
	t.Parallel()
	c := clustertest.Run(t, clustertest.Options{Backend: clustertest.Processes{}})
	r := runApp(t.Context(), "exporter", "--cluster", c.Addrs()[0], "--once")
	if r.code != exitOK || r.stderr != "" || !strings.Contains(r.stdout, "rcctl_cluster_topology_known{cluster=\"default\"} 1\n") {
		t.Errorf("exit code %d %s\n%s", r.code, r.stderr, r.stdout)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "redis.prom")
	r = runApp(t.Context(), "exporter", "--cluster", c.Addrs()[0], "--once", "--textfile", file)
	text, err := os.ReadFile(file)
	if err != nil || r.code != exitOK || r.stdout != "" || !strings.Contains(string(text), "rcctl_server_up") {
		t.Errorf("exit code %d %s %v\n%s", r.code, r.stderr, err, text)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestTheExporterWithoutAClusterSaysSoInTheMetricsAndTheExitCode(t *testing.T) {
	r := runApp(t.Context(), "exporter", "--cluster", "127.0.0.1:1", "--once", "--timeout", "1s")
	if r.code != exitUnknown || !strings.Contains(r.stdout, `rcctl_cluster_topology_known{cluster="default"} 0`) || !strings.Contains(r.stderr, "refused") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

func TestWrongExporterCommandLinesExitWithTwo(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(bad, []byte("nope: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--cluster":         nil,
		"--textfile":        {"--cluster", "127.0.0.1:1", "--textfile", "x"},
		"--web-config-file": {"--cluster", "127.0.0.1:1", "--web-config-file", bad},
	} {
		if r := runApp(t.Context(), append([]string{"exporter"}, args...)...); r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("exit code %d, %q does not name %s", r.code, r.stderr, want)
		}
	}
	if r := runApp(t.Context(), "exporter", "--cluster", "127.0.0.1:1", "--listen", "127.0.0.1:nope"); r.code != exitUnknown || !strings.Contains(r.stderr, "--listen") {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
}

// bcryptOfSecret is the hash of "secret", with the least cost.
const bcryptOfSecret = "$2a$04$P43kJ3ZcMPx0eC2fmRri8ug7sl.a8gPjH3xt4kqkqgmnNCfWfdvKq"

func TestTheExporterSpeaksTLSAndAsksForAPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roots := certificate(t, dir)
	web := "tls_server_config: {cert_file: server.crt, key_file: server.key}\nbasic_auth_users: {prometheus: " + bcryptOfSecret + "}\n"
	file := filepath.Join(dir, "web.yml")
	if err := os.WriteFile(file, []byte(web), 0o600); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(startExporter(t, "--cluster", "127.0.0.1:1", "--timeout", "1s", "--web-config-file", file), "http:", "https:", 1)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	if code, text := get(t, client, url, "", ""); code != 401 {
		t.Errorf("without a password: %d %s", code, text)
	}
	if code, text := get(t, client, url, "prometheus", "secret"); code != 200 || !strings.Contains(text, "rcctl_server_up") {
		t.Errorf("with the password: %d %s", code, text)
	}
	if code, _ := get(t, http.DefaultClient, strings.Replace(url, "https:", "http:", 1), "prometheus", "secret"); code == 200 {
		t.Error("plain HTTP was answered")
	}
}

// certificate writes server.crt and server.key for 127.0.0.1.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{"server.crt": crt, "server.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(crt)
	return roots
}
