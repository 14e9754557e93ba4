package lockcluster

import "github.com/rcctl/rcctl/hashtag"

// companion is the key, in the same slot, that keeps the header of a plain
// value.
func companion(key string) string { return hashtag.Companion(key, "lockcluster") }

// lockKey is the key, in the same slot, that a [Locker] uses.
func lockKey(key string) string { return hashtag.Companion(key, "lock") }
