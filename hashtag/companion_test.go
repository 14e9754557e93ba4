package hashtag_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rcctl/rcctl/hashtag"
)

func TestEverySlotHasItsTag(t *testing.T) {
	seen := map[string]bool{}
	for slot := range hashtag.Slots {
		tag := hashtag.TagForSlot(slot)
		if len(tag) != 3 || seen[tag] {
			t.Fatalf("slot %d: tag %q is not of 3 characters or there twice", slot, tag)
		}
		seen[tag] = true
		if got := hashtag.Slot("{" + tag + "}:x"); got != slot || hashtag.Slot(tag) != slot {
			t.Fatalf("tag %q is in slot %d, want %d", tag, got, slot)
		}
	}
}

func TestTheTableOfTagsIsTheGenerators(t *testing.T) {
	gobin, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: the table cannot be generated here")
	}
	want, err := os.ReadFile("tags.go")
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	gen := t.TempDir() + "/gen_tags"
	if out, err := exec.Command(gobin, "build", "-o", gen, src+"/gen_tags.go").CombinedOutput(); err != nil {
		t.Fatalf("go build gen_tags.go: %v\n%s", err, out)
	}
	cmd := exec.Command(gen)
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gen_tags: %v\n%s", err, out)
	}
	got, err := os.ReadFile(cmd.Dir + "/tags.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("tags.go is not what gen_tags.go writes: run go generate")
	}
}

func TestTagForSlotPanicsOutsideTheSlots(t *testing.T) {
	for _, slot := range []int{-1, 16384} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("TagForSlot(%d) did not panic", slot)
				}
			}()
			hashtag.TagForSlot(slot)
		}()
	}
}

func TestCompanionIsInTheSlotOfOddKeysToo(t *testing.T) {
	seen := map[string]string{}
	for _, key := range []string{"", "{", "}", "{}", "a{}b", "foo}bar", "{foo}bar", "foo", "{foo}", "a{b}c", "\x00\xff", "{04a}lock:x"} {
		c := hashtag.Companion(key, "lock")
		if hashtag.Slot(c) != hashtag.Slot(key) {
			t.Errorf("Companion(%q) = %q is in slot %d, want %d", key, c, hashtag.Slot(c), hashtag.Slot(key))
		}
		if c == key {
			t.Errorf("Companion(%q) is the key itself", key)
		}
		if other, ok := seen[c]; ok {
			t.Errorf("%q and %q have the same companion %q", key, other, c)
		}
		seen[c] = key
	}
}

func FuzzCompanionIsInTheSlotAndNeverCollides(f *testing.F) {
	f.Add("user:1000", "user:1001", "lock")
	f.Add("a{}b", "foo}bar", "{x}")
	f.Add("", "{", "")
	f.Add(":x", "x", "l:")
	f.Fuzz(func(t *testing.T, key, other, prefix string) {
		c := hashtag.Companion(key, prefix)
		if hashtag.Slot(c) != hashtag.Slot(key) || plainSlot(c) != plainSlot(key) {
			t.Errorf("Companion(%q, %q) = %q is in another slot", key, prefix, c)
		}
		if c == key {
			t.Errorf("Companion(%q, %q) is the key", key, prefix)
		}
		if key != other && c == hashtag.Companion(other, prefix) {
			t.Errorf("%q and %q share the companion %q", key, other, c)
		}
		if p := strings.ReplaceAll(prefix, ":", ""); p != prefix && c == hashtag.Companion(key, p) {
			t.Errorf("prefixes %q and %q share the companion %q", prefix, p, c)
		}
	})
}

func TestBucketTagSpreadsIdsEvenlyOverEvenlySpreadSlots(t *testing.T) {
	const n, ids = 12, 120_000
	tags := hashtag.BucketTags(n)
	count := map[string]int{}
	for i := range ids {
		tag := hashtag.BucketTag("user:"+strconv.Itoa(i), n)
		count[tag]++
	}
	for i, tag := range tags {
		if lo, hi := i*hashtag.Slots/n, (i+1)*hashtag.Slots/n; hashtag.Slot(tag) < lo || hashtag.Slot(tag) >= hi {
			t.Errorf("bucket %d is in slot %d, want %d to %d", i, hashtag.Slot(tag), lo, hi-1)
		}
		if c := count[tag]; c < ids/n*9/10 || c > ids/n*11/10 {
			t.Errorf("bucket %d has %d ids, want %d ± 10 %%", i, c, ids/n)
		}
	}
	if len(count) != n {
		t.Errorf("%d tags, want %d", len(count), n)
	}
}

func TestBucketTagIsTheSameForever(t *testing.T) {
	got := []string{hashtag.BucketTag("user:1000", 16), hashtag.BucketTag("", 16), hashtag.BucketTag("user:1000", 1), hashtag.BucketTag("x", 16384)}
	want := []string{"4mt", "4K0", "8YG", "4jb"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
