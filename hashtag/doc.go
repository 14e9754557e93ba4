// Package hashtag computes cluster slots, builds keys that share one, and runs
// multi-key operations over any number of slots.
//
// A cluster answers CROSSSLOT to a command whose keys are in different slots,
// TRYAGAIN while a slot is moved, and nothing at all for the keys of a dead
// node. What clients make of that differs, and some of it is wrong: nil values
// with a nil error, a key counted twice, all answers thrown away because of
// one. The operations of [Multi] give every key its own answer or its own
// error.
//
// The smallest program:
//
//	m := hashtag.Multi{Client: rdb}
//	values, err := m.MGet(ctx, "a", "b", "{user:1000}:profile")
//	for _, v := range values { // in the order of the keys
//		switch {
//		case v.Err != nil: // no answer: its node is down, or slow
//		case !v.Found: // the key does not exist
//		default:
//			use(v.Val)
//		}
//	}
//
// Callers who want all or nothing look at err alone: it is nil when every key
// has an answer. Callers who want to know which keys failed take the
// [PartialError] out of it:
//
//	n, err := m.Del(ctx, keys...) // n is exact for the keys without an error
//	var pe *hashtag.PartialError
//	if errors.As(err, &pe) {
//		for _, k := range pe.Keys {
//			log.Print(k.Key, k.Err, errors.Is(k.Err, hashtag.ErrUnknown))
//		}
//	}
//
// For keys that belong together, [Key] builds keys in one slot and refuses ids
// that would change it, [Companion] finds another key in the slot of any key,
// and [Tx] and [Watch] run transactions that say when they did not run.
// [BucketTag] spreads a tag that has become too hot, and [Analyze] finds such
// tags.
//
// Left out: atomicity over slots (no client can offer it), commands other than
// the seven of Multi, and operations on whole keyspaces.
package hashtag
