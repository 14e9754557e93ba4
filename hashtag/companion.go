package hashtag

import (
	"fmt"
	"hash/fnv"
	"math/bits"
)

//go:generate go run gen_tags.go

const tagLen = 3

// TagForSlot is a hash tag of three letters and digits whose slot is slot. Each
// slot has one tag, the same in every version of this package. TagForSlot
// panics when slot is not 0 to 16383. It does not allocate.
func TagForSlot(slot int) string {
	if slot < 0 || slot >= Slots {
		panic(fmt.Sprintf("hashtag: slot %d: want 0 to %d", slot, Slots-1))
	}
	return slotTags[tagLen*slot : tagLen*(slot+1)]
}

// Companion is another key in the slot of key, which may be any bytes:
// Companion("user:1000", "lock") is "{bQs}lock:user:1000". Use it for a lock,
// a counter or an index that one script or transaction changes together with
// the key. Wrapping the key in braces is not enough for that: foo}bar is in
// slot 7223, {foo}bar}:lock in slot 12182.
//
// With one prefix, different keys have different companions, and no key is
// its own. Prefixes without ':' never share a companion either.
func Companion(key, prefix string) string {
	return "{" + TagForSlot(Slot(key)) + "}" + prefix + ":" + key
}

// BucketTag spreads what one hot tag would pin to one slot over n slots, which
// are spread evenly over the cluster. It is the tag of the bucket that id
// belongs to: Key(BucketTag(userID, 16), "cart", userID). The same id and n
// always give the same tag, in every version of this package. BucketTag panics
// when n is not 1 to 16384.
func BucketTag(id string, n int) string {
	checkBuckets(n)
	h := fnv.New64a()
	h.Write([]byte(id))
	// FNV mixes its low bits better than its high ones, which choose the bucket.
	sum := h.Sum64() * 0x9e3779b97f4a7c15
	bucket, _ := bits.Mul64(sum, uint64(n))
	return bucketTag(int(bucket), n)
}

// BucketTags are all n tags that [BucketTag] gives for n buckets, for readers
// who need every bucket. It panics when n is not 1 to 16384.
func BucketTags(n int) []string {
	checkBuckets(n)
	tags := make([]string, n)
	for i := range tags {
		tags[i] = bucketTag(i, n)
	}
	return tags
}

func checkBuckets(n int) {
	if n < 1 || n > Slots {
		panic(fmt.Sprintf("hashtag: %d buckets: want 1 to %d", n, Slots))
	}
}

// bucketTag takes the slot in the middle of the bucket's share.
func bucketTag(bucket, n int) string { return TagForSlot((2*bucket + 1) * Slots / (2 * n)) }
