package hashtag

import "strings"

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Slot is the hash slot of a key, 0 to 16383, as CLUSTER KEYSLOT computes it:
// CRC16/XMODEM over the key's hash tag, or over the whole key when it has
// none, modulo 16384. Slot("") is 0. It does not allocate.
//
// Source: Redis Cluster specification, "Key distribution model".
func Slot(key string) int {
	switch {
	case len(key) < 3: // too short for a tag
		return int(crc16Short(key) % Slots)
	case len(key) > 16:
		return slotLong(key)
	}
	hi, lo := load16(key)
	if hasBrace(hi) || hasBrace(lo) {
		if tag := shortTag(key); len(tag) > 3 {
			hi, lo = load16(tag)
		} else if tag != "" {
			return int(crc16Short(tag) % Slots)
		}
	}
	return int(crc16Words(hi, lo) % Slots)
}

// shortTag is the tag of a short key with a '{', or "". So close by, a loop
// finds the braces sooner than strings.IndexByte.
func shortTag(key string) string {
	i := 0
	for key[i] != '{' {
		i++
	}
	i++
	for n := i; n < len(key); n++ {
		if key[n] == '}' {
			return key[i:n]
		}
	}
	return ""
}

func slotLong(key string) int {
	i := 0
	if key[0] != '{' {
		i = strings.IndexByte(key, '{')
	}
	if i >= 0 {
		if n := strings.IndexByte(key[i+1:], '}'); n > 0 {
			key = key[i+1 : i+1+n]
		}
	}
	switch {
	case len(key) < 4:
		return int(crc16Short(key) % Slots)
	case len(key) <= 16:
		return int(crc16Words(load16(key)) % Slots)
	}
	return int(crc16(key) % Slots)
}

// SlotBytes is [Slot] of a key held in a byte slice. It does not allocate and
// does not keep the slice.
func SlotBytes(key []byte) int { return Slot(view(key)) }

// Tag is the part of a key that is hashed when it has a hash tag: what stands
// between the first '{' and the first '}' after it, when that is not empty.
// Without a hash tag the whole key is hashed, and ok is false.
func Tag(key string) (tag string, ok bool) {
	i := strings.IndexByte(key, '{')
	if i < 0 {
		return "", false
	}
	n := strings.IndexByte(key[i+1:], '}')
	if n <= 0 {
		return "", false
	}
	return key[i+1 : i+1+n], true
}

// SameSlot reports whether all keys are in one slot, so that one command,
// script or transaction may name them all. It is true for no keys and for one.
func SameSlot(keys ...string) bool {
	for i := 1; i < len(keys); i++ {
		if Slot(keys[i]) != Slot(keys[0]) {
			return false
		}
	}
	return true
}
