package hashtag_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rcctl/rcctl/hashtag"
)

func TestKeyPutsTheTagInBraces(t *testing.T) {
	got, err := hashtag.Key("user:1000", "profile", "v2")
	if err != nil || got != "{user:1000}:profile:v2" {
		t.Errorf("Key = %q, %v", got, err)
	}
	if got, err := hashtag.Key("t"); err != nil || got != "{t}" {
		t.Errorf("Key = %q, %v", got, err)
	}
}

func TestKeyRefusesWhatWouldMoveTheKey(t *testing.T) {
	for _, c := range []struct {
		tag   string
		parts []string
		names string
	}{
		{"", []string{"a"}, "empty"},
		{"a}b", nil, `tag "a}b"`},
		{"{a", []string{"b"}, `tag "{a"`},
		{"a", []string{"b", "c{d"}, `part 2 "c{d"`},
		{"a", []string{"}"}, `part 1 "}"`},
	} {
		key, err := hashtag.Key(c.tag, c.parts...)
		if err == nil || key != "" || !strings.Contains(err.Error(), c.names) {
			t.Errorf("Key(%q, %q) = %q, %v, want an error with %q", c.tag, c.parts, key, err, c.names)
		}
	}
}

func TestGroupKeepsTheInputOrderInEachSlot(t *testing.T) {
	keys := []string{"{b}1", "{a}1", "{b}2", "", "{a}2", "{b}1"}
	groups := hashtag.Group(keys)
	if len(groups) != 3 {
		t.Fatalf("%d groups, want 3: %v", len(groups), groups)
	}
	for i, want := range []struct {
		slot  int
		index []int
	}{{0, []int{3}}, {3300, []int{0, 2, 5}}, {15495, []int{1, 4}}} {
		if groups[i].Slot != want.slot || !slices.Equal(groups[i].Index, want.index) {
			t.Errorf("group %d = %v, want %v", i, groups[i], want)
		}
	}
	if got := hashtag.Group(nil); len(got) != 0 {
		t.Errorf("Group(nil) = %v", got)
	}
}
