package engine

import (
	"slices"
	"strings"
	"testing"
)

func TestKeysAreFoundWhereTheCommandHasThem(t *testing.T) {
	for command, want := range map[string]string{
		"GET k": "k", "get k v": "k", "GET": "", "MSET a 1 b 2": "a b", "BLPOP a b 0": "a b",
		"EVAL x 1 k v": "k", "EVAL x many k": "", "OBJECT ENCODING k": "k", "OBJECT NONSENSE k": "",
		"XREAD COUNT 1 STREAMS a b 0 0": "a b", "ZUNIONSTORE d 2 a b": "d a b",
		"PUBLISH k v": "", "ECHO k": "", "VADD k v": "k v",
	} {
		if got := KeysOf(strings.Fields(command)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}
