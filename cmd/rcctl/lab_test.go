package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestLabUpSaysWhatToDoInTheWordsOfTheCommandLine(t *testing.T) {
	taken := 0 // a port that the flag allows
	for port := 20000; port < 30000 && taken == 0; port++ {
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			defer l.Close()
			taken = port
		}
	}
	flag := fmt.Sprint("--port ", taken)
	t.Setenv("PATH", t.TempDir())
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--embedded", "--port", fmt.Sprint(taken)}, flag},
		{[]string{"--masters", "100000"}, "--masters 100000: want 1 to 100"},
		{[]string{"--port", "99999"}, "--port 99999: want 1024 to 32762"},
		{nil, "on PATH: install one, name it with --server"},
		{[]string{"--server", "/no/such/server"}, "at /no/such/server"},
	} {
		r := runApp(t.Context(), append([]string{"lab", "up"}, tc.args...)...)
		if r.code == exitOK || r.stdout != "" {
			t.Errorf("%v: exit %d, %q", tc.args, r.code, r.stdout)
		}
		if !strings.Contains(r.stderr, tc.want) || strings.Contains(r.stderr, "Options.") || strings.Contains(r.stderr, "Processes.") {
			t.Errorf("%v says %q, not %q", tc.args, r.stderr, tc.want)
		}
	}
}
