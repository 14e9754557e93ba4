package lockcluster

import (
	"fmt"
	"testing"
	"time"
)

func FuzzParseHeader(f *testing.F) {
	f.Add("")
	f.Add(magic + string(make([]byte, 76)))
	f.Add(magic + "\x01" + string(make([]byte, 75)) + "payload")
	f.Fuzz(func(t *testing.T, s string) {
		h, ok := parseHeader(s)
		if !ok {
			return
		}
		if len(s) < headerLen || h.kind > kindNotFound || h.fails < 0 || h.freshUntil < 0 || h.freshLen < 0 || len(h.digest) != 8 {
			t.Errorf("%q gave %+v", s, h)
		}
		for _, now := range []int64{0, 1, 1 << 47, -1} {
			if d := h.freshFor(now); d < 0 || d > time.Duration(h.freshLen)*time.Millisecond {
				t.Errorf("fresh for %s at %d: beyond [0, %d ms]", d, now, h.freshLen)
			}
		}
	})
}

func TestAServerClockThatIsWrongNeverLengthensAValuesLife(t *testing.T) {
	h := header{kind: kindValue, freshUntil: 1_000_000, freshLen: 5000, staleUntil: 1_010_000}
	for now, want := range map[int64]time.Duration{
		998_000:   2 * time.Second,
		1_000_000: 0,
		2_000_000: 0,
		0:         5 * time.Second,
	} {
		if got := h.freshFor(now); got != want {
			t.Errorf("at %d: fresh for %s, want %s", now, got, want)
		}
	}
}

func TestCopiesAreBoundedByEntriesBytesAndAge(t *testing.T) {
	var shift time.Duration
	timeNow = func() time.Time { return time.Now().Add(shift) }
	defer func() { timeNow = time.Now }()
	s := newCopies(3, 100, time.Minute, newClock())
	for i := range 5 {
		s.put(fmt.Sprint("k", i), []byte("0123456789"), false, token{byte(i + 1)})
	}
	if _, ok := s.get("k1"); ok || s.len() != 3 {
		t.Errorf("%d copies", s.len())
	}
	s.put("big", make([]byte, 90), false, token{9})
	if _, ok := s.get("k4"); ok || s.len() != 1 {
		t.Errorf("%d copies beside a big one", s.len())
	}
	s.put("huge", make([]byte, 200), false, token{9})
	if _, ok := s.get("huge"); ok {
		t.Error("a copy beyond the bytes is kept")
	}
	value := []byte("mine")
	s.put("own", value, false, token{7})
	copy(value, "XXXX")
	if a, ok := s.get("own"); !ok || string(a.value) != "mine" {
		t.Errorf("the copy is shared: %q", a.value)
	}
	shift = 2 * time.Minute
	if _, ok := s.get("own"); ok {
		t.Error("too old, and still there")
	}
	s.put("gone", nil, true, token{8})
	s.drop("gone")
	if _, ok := s.get("gone"); ok {
		t.Error("dropped, and still there")
	}
	var none *copies
	none.put("k", nil, false, token{})
	none.drop("k")
	if _, ok := none.get("k"); ok || none.len() != 0 {
		t.Error("no copies, and one is there")
	}
}
