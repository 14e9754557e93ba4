package hashtag_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rcctl/rcctl/hashtag"
)

func thirds(slot int) string { return fmt.Sprintf("node%d", slot*3/hashtag.Slots) }

func TestAnalyzeFindsTheTagThatPinsAKeyspace(t *testing.T) {
	var keys []string
	for i := range 9000 {
		keys = append(keys, fmt.Sprintf("{user:%d}:profile", i%4500), fmt.Sprintf("plain:%d", i))
	}
	for i := range 2000 {
		keys = append(keys, fmt.Sprintf("{cart}:user:%d", i))
	}
	s := hashtag.Analyze(slices.Values(keys), thirds)
	if s.Keys != 20_000 || len(s.Hottest) != 20 || s.SlotsUsed < 5000 {
		t.Errorf("%d keys, %d slots, %d hottest", s.Keys, s.SlotsUsed, len(s.Hottest))
	}
	slot := hashtag.Slot("cart")
	if h := s.Hottest[0]; h.Slot != slot || h.Keys < 2000 || h.Share < 0.1 || h.Node != thirds(slot) {
		t.Errorf("hottest slot %+v, want %d", h, slot)
	}
	if len(s.Static) != 1 || s.Static[0].Tag != "cart" || s.Static[0].Slot != slot || s.Static[0].Node != thirds(slot) || len(s.Static[0].Examples) != 3 {
		t.Fatalf("static tags %+v, want cart alone", s.Static)
	}
	if n := s.Static[0].Keys; n > 2000 || n < 1990 {
		t.Errorf("%d keys with the tag cart, want 2000, or a few less with more than 4096 tags", n)
	}
	n := 0
	for _, node := range s.Nodes {
		n += node.Keys
	}
	if len(s.Nodes) != 3 || n != s.Keys || s.Nodes[0].Node != thirds(slot) || s.Nodes[0].Slots+s.Nodes[1].Slots+s.Nodes[2].Slots != hashtag.Slots {
		t.Errorf("nodes %+v", s.Nodes)
	}
}

func TestAnalyzeOfFewKeysCallsNoTagStatic(t *testing.T) {
	s := hashtag.Analyze(slices.Values([]string{"{a}1", "{a}2", "{a}3"}), nil)
	if s.Keys != 3 || s.SlotsUsed != 1 || len(s.Static) != 0 || s.Nodes != nil || s.Hottest[0].Keys != 3 {
		t.Errorf("%+v", s)
	}
	if s := hashtag.Analyze(slices.Values([]string(nil)), nil); s.Keys != 0 || len(s.Hottest) != 0 {
		t.Errorf("%+v", s)
	}
}
