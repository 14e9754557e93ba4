package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// runWithInput is runApp with something on standard input.
func runWithInput(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errOut strings.Builder
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errOut, getenv: func(string) string { return "" }}
	code := a.run(t.Context(), args)
	return result{code, out.String(), errOut.String()}
}

func TestSlotOfArgumentsInJSON(t *testing.T) {
	r := runWithInput(t, "ignored\n", "slot", "{user:1000}:profile", "user:1000", "-o", "json")
	if r.code != exitOK {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	var got []map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatalf("%v in %s", err, r.stdout)
	}
	if len(got) != 2 {
		t.Fatalf("%d elements, want 2: %s", len(got), r.stdout)
	}
	if got[0]["key"] != "{user:1000}:profile" || got[0]["slot"] != 1649.0 || got[0]["tag"] != "user:1000" {
		t.Errorf("first element: %v", got[0])
	}
	if got[1]["key"] != "user:1000" || got[1]["slot"] != 1649.0 || got[1]["tag"] != nil {
		t.Errorf("second element: %v", got[1])
	}
	for _, e := range got {
		if _, there := e["owner"]; there {
			t.Errorf("owner without a cluster: %v", e)
		}
	}
}

func TestSlotKeepsEveryByteOfKeysOnStandardInput(t *testing.T) {
	for _, tc := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"lines", "a\nb\r\n", nil, `[{"key":"a","slot":15495,"tag":null},{"key":"b\r","slot":15589,"tag":null}]`},
		{"no newline at the end", "a", nil, `[{"key":"a","slot":15495,"tag":null}]`},
		{"an empty line is the empty key", "\n", nil, `[{"key":"","slot":0,"tag":null}]`},
		{"nothing", "", nil, `[]`},
		{"not UTF-8", "a{\xff}b\n", nil, `[{"key":null,"key_hex":"617bff7d62","slot":7920,"tag":null,"tag_hex":"ff"}]`},
		{"zero bytes", "a\nb\x00c", []string{"--null"}, `[{"key":"a\nb","slot":3956,"tag":null},{"key":"c","slot":7365,"tag":null}]`},
		{"hexadecimal", "61\n", []string{"--hex"}, `[{"key":"a","slot":15495,"tag":null}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := runWithInput(t, tc.stdin, append([]string{"slot", "-o", "json"}, tc.args...)...)
			if r.code != exitOK {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			var compact strings.Builder
			var v []json.RawMessage
			if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
				t.Fatalf("%v in %s", err, r.stdout)
			}
			compact.WriteByte('[')
			for i, e := range v {
				if i > 0 {
					compact.WriteByte(',')
				}
				compact.Write(e)
			}
			compact.WriteByte(']')
			if compact.String() != tc.want {
				t.Errorf("got  %s\nwant %s", compact.String(), tc.want)
			}
		})
	}
}

func TestSlotTextQuotesWhatATerminalWouldNotShow(t *testing.T) {
	r := runWithInput(t, "", "slot", "{a}b", "x\x1b[2J", "")
	want := "SLOT   TAG  KEY\n15495  a    {a}b\n15957  -    \"x\\x1b[2J\"\n0      -    \"\"\n"
	if r.code != exitOK || r.stdout != want {
		t.Errorf("exit code %d, stdout\n%s\nwant\n%s", r.code, r.stdout, want)
	}
}

func TestSlotNamesAKeyThatIsNotHexadecimal(t *testing.T) {
	r := runWithInput(t, "61\nzz\n", "slot", "--hex")
	if r.code != exitUsage || !strings.Contains(r.stderr, `key 2, "zz"`) {
		t.Errorf("exit code %d, stderr %s", r.code, r.stderr)
	}
}
