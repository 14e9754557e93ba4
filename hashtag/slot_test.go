package hashtag_test

import (
	"bufio"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rcctl/rcctl/clustertest"
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

// keySlots asks a server for the slots of keys.
func keySlots(tb testing.TB, server *redis.Client, keys []string) []int {
	tb.Helper()
	pipe := server.Pipeline()
	cmds := make([]*redis.IntCmd, len(keys))
	for i, k := range keys {
		cmds[i] = pipe.ClusterKeySlot(tb.Context(), k)
	}
	if _, err := pipe.Exec(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	slots := make([]int, len(keys))
	for i, cmd := range cmds {
		slots[i] = int(cmd.Val())
	}
	return slots
}

func oneServer(tb testing.TB) *redis.Client {
	tb.Helper()
	return clustertest.Run(tb, clustertest.Options{Backend: clustertest.Processes{}, Masters: 1}).Nodes()[0].Client()
}

func TestSlotAgreesWithAServerOnKeysFullOfBraces(t *testing.T) {
	server := oneServer(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	keys := make([]string, 20_000)
	for i := range keys {
		keys[i] = braced(rnd, rnd.IntN(80))
	}
	for i, want := range keySlots(t, server, keys) {
		if got := hashtag.Slot(keys[i]); got != want {
			t.Fatalf("Slot(%q) = %d, the server says %d", keys[i], got, want)
		}
		if got := hashtag.Slot(hashtag.Companion(keys[i], keys[len(keys)-1-i])); got != want {
			t.Fatalf("the companion of %q is in slot %d, want %d", keys[i], got, want)
		}
	}
}

// The seed makes a batch of keys, so that the fuzzer's own bytes are asked for
// together with many random ones in one round trip.
func FuzzSlotAgreesWithAServer(f *testing.F) {
	server := oneServer(f)
	f.Add("{user:1000}:profile", "foo}bar", uint64(1))
	f.Add("a{}{b}", "{{}}", uint64(2))
	f.Fuzz(func(t *testing.T, a, b string, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		keys := []string{a, b, a + "{" + b + "}", "{" + a + "}" + b, hashtag.Companion(a, b)}
		for range 20 {
			keys = append(keys, braced(rnd, rnd.IntN(40)))
		}
		slots := keySlots(t, server, keys)
		for i, want := range slots {
			if got := hashtag.Slot(keys[i]); got != want {
				t.Errorf("Slot(%q) = %d, the server says %d", keys[i], got, want)
			}
		}
		if slots[4] != slots[0] {
			t.Errorf("the companion of %q is in slot %d, want %d", a, slots[4], slots[0])
		}
	})
}
