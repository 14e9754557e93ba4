package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/clustertest"
)

// block is a fenced block of a Markdown file.
type block struct{ language, text string }

func markdownBlocks(t *testing.T, file string) []block {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(b), -1) {
		out = append(out, block{m[1], m[2]})
	}
	return out
}

const readme = "../../README.md"

// onCluster replaces the addresses of a document by those of a running cluster.
func onCluster(text string, c *clustertest.Cluster) string {
	for i, documented := range []string{"127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7002"} {
		text = strings.ReplaceAll(text, documented, c.Addrs()[i])
	}
	return text
}

func TestEveryGoProgramOfTheReadmeCompilesAndRuns(t *testing.T) {
	c := clustertest.Run(t, clustertest.Options{})
	programs := 0
	for _, b := range markdownBlocks(t, readme) {
		if b.language != "go" {
			continue
		}
		programs++
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(onCluster(b.text, c)), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "go", "run", file)
		cmd.Dir = "../.."
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\nprogram:\n%s", err, out, b.text)
		}
		if !strings.Contains(string(out), "session: alice") {
			t.Errorf("the program printed %q", out)
		}
	}
	if programs == 0 {
		t.Error("the README has no Go program")
	}
	ttl, err := c.Client().TTL(t.Context(), "user:session:1001").Result()
	if err != nil || ttl <= 9*time.Minute || ttl > 10*time.Minute {
		t.Errorf("TTL of user:session:1001 is %v (%v), want 10 minutes", ttl, err)
	}
}

func TestEveryCommandOfTheReadmeRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command, the demo included")
	}
	c := clustertest.Run(t, clustertest.Options{Replicas: 1})
	commands := 0
	blocks := markdownBlocks(t, readme)
	t.Chdir("../..")
	for _, b := range blocks {
		if b.language != "sh" {
			continue
		}
		for line := range strings.Lines(b.text) {
			args := shellWords(onCluster(line, c))
			switch {
			case len(args) == 0:
			case strings.Join(args, " ") == "go test ./...":
				// This is the command that runs this test.
			case strings.HasPrefix(line, "go run ./cmd/rcctl "):
				runReadmeCommand(t, args[3:])
				commands++
			case args[0] == "rcctl":
				runReadmeCommand(t, args[1:])
				commands++
			default:
				t.Errorf("the test does not know how to run %q", line)
			}
		}
	}
	if commands < 8 {
		t.Errorf("found %d commands in the README", commands)
	}
}

func runReadmeCommand(t *testing.T, args []string) {
	t.Run(strings.Join(args, "_"), func(t *testing.T) {
		ctx := t.Context()
		for i, s := range args {
			switch s {
			case "10s":
				args[i] = "1s" // the same command, shorter
			case "run.json":
				args[i] = filepath.Join(t.TempDir(), s)
			}
		}
		if args[0] == "lab" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 2*time.Second) // as Ctrl-C does
			defer cancel()
		}
		r := runApp(ctx, args...)
		if r.code == exitOK || args[0] == "doctor" && r.code == exitFindings {
			return
		}
		t.Errorf("rcctl %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	})
}

// shellWords splits a line as a shell does, as far as the documents need it:
// blanks, single quotes and comments.
func shellWords(line string) []string {
	var words []string
	sc := bufio.NewScanner(strings.NewReader(line))
	for sc.Scan() {
		for _, m := range regexp.MustCompile(`#.*|'([^']*)'|(\S+)`).FindAllStringSubmatch(sc.Text(), -1) {
			if !strings.HasPrefix(m[0], "#") {
				words = append(words, m[1]+m[2])
			}
		}
	}
	return words
}

// result is what a command line did.
type result struct {
	code           int
	stdout, stderr string
}

// runApp runs a command line in this process with an empty environment.
func runApp(ctx context.Context, args ...string) result {
	var out, errOut strings.Builder
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errOut, getenv: func(string) string { return "" }}
	code := a.run(ctx, args)
	return result{code, out.String(), errOut.String()}
}
