package lockcluster

import (
	"strconv"

	"github.com/rcctl/rcctl/hashtag"
)

// companion is the key, in the same slot as any key, that keeps the header of
// a plain value. The same for the lock on a key.
func companion(key string) string { return companionOf("lockcluster:", key) }

func companionOf(prefix, key string) string {
	slot := hashtag.Slot(key)
	for i := 0; ; i++ {
		tag := strconv.Itoa(i)
		if hashtag.Slot(tag) == slot {
			return prefix + "{" + tag + "}" + key
		}
	}
}
