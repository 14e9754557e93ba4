package hashtag_test

import (
	"bufio"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rcctl/rcctl/hashtag"
)

// plainSlot follows the words of the cluster specification, bit by bit.
func plainSlot(key string) int {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if n := strings.IndexByte(key[i+1:], '}'); n > 0 {
			key = key[i+1 : i+1+n]
		}
	}
	var crc uint16
	for i := 0; i < len(key); i++ {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}

// braced is n random bytes of which every third or so is a brace.
func braced(rnd *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		if rnd.IntN(3) == 0 {
			b[i] = "{}"[rnd.IntN(2)]
		} else {
			b[i] = byte(rnd.Uint32())
		}
	}
	return string(b)
}

func TestEveryVectorHasTheSlotTheServerGave(t *testing.T) {
	f, err := os.Open("testdata/slot-vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		h, s, _ := strings.Cut(line, "\t")
		key, err := hex.DecodeString(h)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if got := hashtag.Slot(string(key)); got != want {
			t.Errorf("Slot(%q) = %d, want %d", key, got, want)
		}
		if got := hashtag.SlotBytes(key); got != want {
			t.Errorf("SlotBytes(%q) = %d, want %d", key, got, want)
		}
		n++
	}
	if n != 2000 {
		t.Errorf("%d vectors, want 2000", n)
	}
}

func TestSlotAgreesWithThePlainAlgorithmOnEveryLength(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 1100 {
		plain := make([]byte, n)
		for i := range plain {
			plain[i] = byte(rnd.Uint32())
		}
		for _, key := range []string{string(plain), strings.Repeat("a", n), braced(rnd, n), "x{" + string(plain) + "}y"} {
			if got, want := hashtag.Slot(key), plainSlot(key); got != want {
				t.Fatalf("Slot(%q) = %d, want %d", key, got, want)
			}
		}
	}
}

func TestTagIsTheFirstNonEmptyBracedPart(t *testing.T) {
	for _, c := range []struct {
		key, tag string
		ok       bool
	}{
		{"", "", false},
		{"user:1000", "", false},
		{"{user:1000}:profile", "user:1000", true},
		{"a{b}c{d}", "b", true},
		{"a{}b", "", false},
		{"a{}{b}", "", false},
		{"foo}bar", "", false},
		{"{", "", false},
		{"{a", "", false},
		{"{{a}}", "{a", true},
		{"}{a}", "a", true},
	} {
		if tag, ok := hashtag.Tag(c.key); tag != c.tag || ok != c.ok {
			t.Errorf("Tag(%q) = %q, %v, want %q, %v", c.key, tag, ok, c.tag, c.ok)
		}
	}
}

func TestSlotAndTagDoNotAllocate(t *testing.T) {
	key := []byte("{user:1000}:profile:" + strings.Repeat("x", 100))
	s := string(key)
	if n := testing.AllocsPerRun(100, func() {
		hashtag.Slot(s)
		hashtag.SlotBytes(key)
		hashtag.Tag(s)
		hashtag.SameSlot(s, s)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestSameSlotComparesAllKeys(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want bool
	}{
		{nil, true},
		{[]string{"a"}, true},
		{[]string{"{a}1", "{a}2", "a"}, true},
		{[]string{"{a}1", "{a}2", "b"}, false},
	} {
		if got := hashtag.SameSlot(c.keys...); got != c.want {
			t.Errorf("SameSlot(%q) = %v, want %v", c.keys, got, c.want)
		}
	}
}

func FuzzSlotAgreesWithThePlainAlgorithm(f *testing.F) {
	for _, s := range []string{"", "a", "{a}b", "a{}b", "{{a}", "0123456789abcdef", strings.Repeat("x", 33)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if got, want := hashtag.Slot(key), plainSlot(key); got != want {
			t.Errorf("Slot(%q) = %d, want %d", key, got, want)
		}
		if got, want := hashtag.SlotBytes([]byte(key)), plainSlot(key); got != want {
			t.Errorf("SlotBytes(%q) = %d, want %d", key, got, want)
		}
	})
}
