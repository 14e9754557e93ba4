package resp_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

func TestCommandsAreReadAsAServerReadsThem(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	for _, tc := range []struct {
		name, in string
		want     [][]string
		err      string
	}{
		{"multibulk", "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", [][]string{{"GET", "a"}}, ""},
		{"pipeline", "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n", [][]string{{"PING"}, {"PING"}}, ""},
		{"empty requests are passed over", "\r\n*0\r\n*-1\r\n*1\r\n$4\r\nPING\r\n", [][]string{{"PING"}}, ""},
		{"inline", "SET a \"b\\x41\\n\" 'c\\'d'\r\n", [][]string{{"SET", "a", "bA\n", "c'd"}}, ""},
		{"binary", "*2\r\n$3\r\nGET\r\n$4\r\n\x00\r\n{\r\n", [][]string{{"GET", "\x00\r\n{"}}, ""},
		{"an argument larger than the buffer", "*2\r\n$4\r\nECHO\r\n$100000\r\n" + big + "\r\n", [][]string{{"ECHO", big}}, ""},
		{"cut off", "*2\r\n$3\r\nGET\r\n$1\r\n", nil, "unexpected EOF"},
		{"bad multibulk length", "*x\r\n", nil, "invalid multibulk length"},
		{"bad bulk length", "*1\r\n$-1\r\n", nil, "invalid bulk length"},
		{"no dollar", "*1\r\n:1\r\n", nil, "expected '$', got ':'"},
		{"unbalanced quotes", "GET \"a\r\n", nil, "unbalanced quotes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := resp.NewReader(strings.NewReader(tc.in))
			var got [][]string
			var err error
			for {
				var args []string
				if args, err = r.ReadCommand(); err != nil {
					break
				}
				got = append(got, args)
			}
			if tc.err == "" && err != io.EOF || tc.err != "" && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRawCommandsAndRepliesAreByteForByteWhatWasRead(t *testing.T) {
	in := "*2\r\n$3\r\nGET\r\n$1\r\na\r\nPING x\r\n"
	r := resp.NewReader(strings.NewReader(in))
	var raw []byte
	for {
		var err error
		if _, raw, err = r.ReadRawCommand(raw); err != nil {
			break
		}
	}
	if string(raw) != in {
		t.Fatalf("raw %q", raw)
	}
	reply := "*3\r\n$-1\r\n:1\r\n%1\r\n+a\r\n~2\r\n#t\r\n,1.5\r\n"
	got, err := resp.NewReader(strings.NewReader(reply + "+OK\r\n")).AppendReply(nil)
	if err != nil || string(got) != reply {
		t.Fatalf("reply %q, %v", got, err)
	}
}

func TestWhatIsAppendedIsDecodedAgain(t *testing.T) {
	for proto := 2; proto <= 3; proto++ {
		b := resp.AppendMap(nil, 1, proto)
		b = resp.AppendBulk(b, "k\r\n")
		b = resp.AppendArray(b, 7)
		b = resp.AppendInt(b, -5)
		b = resp.AppendNull(b, proto)
		b = resp.AppendNullArray(b, proto)
		b = resp.AppendBool(b, true, proto)
		b = resp.AppendDouble(b, 0.1, proto)
		b = resp.AppendVerbatim(b, "hi", proto)
		b = resp.AppendError(b, "ERR a\r\nb")
		v, n, err := resp.Decode(b)
		if err != nil || n != len(b) {
			t.Fatalf("RESP%d: %d of %d bytes, %v", proto, n, len(b), err)
		}
		list := v.Elems[1].Elems
		if v.Elems[0].Str != "k\r\n" || list[0].Int() != -5 || !list[1].Null || !list[2].Null ||
			list[4].Str != "0.1" || list[6].Str != "ERR a  b" || !list[6].IsError() {
			t.Fatalf("RESP%d: %+v", proto, v)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "PING\r\n", "GET \"\\x\"\r\n", "*1\r\n$9999999\r\n",
		"|1\r\n+a\r\n+b\r\n:1\r\n", "%1\r\n+a\r\n*-1\r\n", "=5\r\ntxt:a\r\n", "*268435455\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := resp.NewReader(bytes.NewReader(in))
		for {
			args, err := r.ReadCommand()
			if err != nil {
				break
			}
			again, err := resp.NewReader(bytes.NewReader(resp.AppendCommand(nil, args...))).ReadCommand()
			if err != nil || !reflect.DeepEqual(again, args) {
				t.Fatalf("%q became %q, %v", args, again, err)
			}
		}
		raw, err := resp.NewReader(bytes.NewReader(in)).AppendReply(nil)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(in, raw) {
			t.Fatalf("raw reply %q is not the start of %q", raw, in)
		}
		if _, n, err := resp.Decode(raw); err != nil || n > len(raw) {
			if !errors.Is(err, resp.ErrProtocol) {
				t.Fatal(err)
			}
		}
	})
}
