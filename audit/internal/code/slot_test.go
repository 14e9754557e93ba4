package code_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/internal/code"
	"github.com/rcctl/rcctl/hashtag"
)

func TestTheSlotIsTheOneThatHashtagComputes(t *testing.T) {
	for _, key := range []string{"", "a", "foo", "user:1000", "{user:1000}:a", "a{}b", "foo}bar{x}", "{", "a{b{c}d}e", "\x00\xff", "0123456789abcdefghijklmnop"} {
		if got, want := code.Slot(key), hashtag.Slot(key); got != want {
			t.Errorf("Slot(%q) = %d, want %d", key, got, want)
		}
	}
}
