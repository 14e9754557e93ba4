package hashtag

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Slot is the hash slot of a key, 0 to 16383, as CLUSTER KEYSLOT computes it:
// CRC16/XMODEM over the key's hash tag, or over the whole key when it has
// none, modulo 16384. Slot("") is 0. It does not allocate.
//
// Source: Redis Cluster specification, "Key distribution model".
func Slot(key string) int {
	if t, ok := Tag(key); ok {
		key = t
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
	return int(crc % Slots)
}

// Tag is the part of a key that is hashed when it has a hash tag: what stands
// between the first '{' and the first '}' after it, when that is not empty.
func Tag(key string) (tag string, ok bool) {
	for i := 0; i < len(key); i++ {
		if key[i] != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' {
				return key[i+1 : j], j > i+1
			}
		}
		return "", false
	}
	return "", false
}
