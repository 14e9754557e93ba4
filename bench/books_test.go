package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/internal/redisinfo"
)

func TestBooksCloseOnlyWhenBothSidesAgree(t *testing.T) {
	client := func(moved, ask uint64) ClientRedirects { return ClientRedirects{Moved: moved, Ask: ask} }
	for _, tc := range []struct {
		name        string
		l           ledger
		state       string
		unexplained uint64
		reasons     []string
	}{
		{"nothing happened", ledger{}, "closed", 0, nil},
		{"equal", ledger{client: client(26, 3), server: ServerRedirects{26, 3}, lost: 9, others: []string{"x"}}, "closed", 0, nil},
		{"the servers sent more", ledger{client: client(20, 3), server: ServerRedirects{26, 3}}, "open", 6, nil},
		{"the client saw more", ledger{client: client(26, 3), server: ServerRedirects{20, 3}}, "open", 6, nil},
		{"too many and too few do not cancel out", ledger{client: client(3, 5), server: ServerRedirects{5, 3}}, "open", 4, nil},
		{"lost replies cover it", ledger{client: client(20, 3), server: ServerRedirects{26, 3}, lost: 6}, "open", 0, []string{"lost replies"}},
		{"lost replies cover a part", ledger{client: client(20, 3), server: ServerRedirects{26, 3}, lost: 4}, "open", 2, []string{"lost replies"}},
		{"lost replies do not explain what the client saw", ledger{client: client(26, 3), server: ServerRedirects{20, 3}, lost: 100}, "open", 6, nil},
		{"somebody else", ledger{client: client(0, 0), server: ServerRedirects{26, 0}, others: []string{"from 10.0.0.9"}}, "open", 0, []string{"somebody else"}},
		{"a node is gone though the sums agree", ledger{client: client(2, 0), server: ServerRedirects{2, 0}, blind: []string{"n1: gone"}}, "open", 0, []string{"n1: gone"}},
		{"a node restarted", ledger{client: client(26, 0), server: ServerRedirects{20, 0}, blind: []string{"n1: restarted"}}, "open", 0, []string{"n1: restarted"}},
	} {
		b := tc.l.close()
		if b.State != tc.state || b.Unexplained != tc.unexplained || len(b.Reasons) != len(tc.reasons) {
			t.Errorf("%s: %+v, want %s, %d unexplained, reasons %v", tc.name, b, tc.state, tc.unexplained, tc.reasons)
			continue
		}
		for i, want := range tc.reasons {
			if !strings.Contains(b.Reasons[i], want) {
				t.Errorf("%s: reason %q, want %q", tc.name, b.Reasons[i], want)
			}
		}
	}
}

func info(runID string, uptime string, moved uint64) *redisinfo.Info {
	return &redisinfo.Info{
		Fields: map[string]string{"run_id": runID, "uptime_in_seconds": uptime, "redis_version": "7.0.15"},
		Errors: map[string]uint64{"MOVED": moved},
	}
}

func TestAServersRedirectsAreSummedOverRestarts(t *testing.T) {
	began := time.Now()
	n := &server{addr: "n1", counters: map[string]uint64{}}
	for i, s := range []*redisinfo.Info{info("a", "100", 50), info("a", "101", 53), info("b", "0", 4), info("b", "1", 9)} {
		n.add(s, began.Add(time.Duration(i)*time.Second), began)
	}
	if n.moved != 3+9 || !n.restarted {
		t.Errorf("moved %d, restarted %v: want 12, true", n.moved, n.restarted)
	}
}

func TestANodeThatJoinsCountsFromItsBirthOrSaysThatItCannot(t *testing.T) {
	began := time.Now()
	at := began.Add(5 * time.Second)
	young := &server{addr: "young", late: true, counters: map[string]uint64{}}
	young.add(info("y", "3", 7), at, began)
	young.add(info("y", "4", 8), at.Add(time.Second), began)
	if young.moved != 8 || young.unsure != "" || young.restarted {
		t.Errorf("a node started in the run: %+v, want 8 moved and no doubt", young)
	}
	old := &server{addr: "old", late: true, counters: map[string]uint64{}}
	old.add(info("o", "5000", 7), at, began)
	old.add(info("o", "5001", 8), at.Add(time.Second), began)
	if old.moved != 1 || !strings.Contains(old.unsure, "joined during the run") {
		t.Errorf("a node that ran before: moved %d, unsure %q", old.moved, old.unsure)
	}
}

func TestVersionsWithoutErrorstatsAreKnown(t *testing.T) {
	for v, want := range map[string]bool{"6.0.20": false, "5.0.14": false, "6.2.0": true, "7.0.15": true, "8.2.1": true, "": true} {
		i := redisinfo.Info{Fields: map[string]string{"redis_version": v}}
		if got := countsErrors(i); got != want {
			t.Errorf("version %q: %v, want %v", v, got, want)
		}
	}
}

func TestATimelineGathersTheSlotsOfOneMove(t *testing.T) {
	var tl timeline
	zero := time.Now()
	tl.slotsMoved("a", "b", 20)
	tl.add("c is marked as failed")
	tl.slotsMoved("a", "b", 380)
	tl.slotsMoved("b", "a", 1)
	var got []string
	for _, e := range tl.all(zero) {
		got = append(got, e.What)
	}
	want := []string{"400 slots went from a to b", "c is marked as failed", "1 slots went from b to a"}
	for i, w := range want {
		if len(got) != len(want) || !strings.HasPrefix(got[i], w) {
			t.Fatalf("events %q, want %q", got, want)
		}
	}
}
