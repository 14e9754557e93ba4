package hashtag

import "unsafe"

// The CRC of a key is the remainder of a polynomial over GF(2), and the
// polynomial P = x^16 + x^12 + x^5 + 1 of CRC16/XMODEM has four terms.
// Squaring P keeps it that sparse, so modulo P
//
//	x^64  = x^48  + x^20 + 1
//	x^128 = x^96  + x^40 + 1
//	x^256 = x^192 + x^80 + 1
//
// and a word of eight bytes is folded into the words behind it with a few
// shifts and XORs. No step waits for a table load as the usual loop over bytes
// does for every byte, and only the last eight bytes need tables. The initial
// value is 0, so zero bytes in front of a key change nothing: words that are
// not full are filled up in front.

// crcTables[k][b] is the CRC of the byte b followed by k zero bytes.
var crcTables = makeCRCTables()

func makeCRCTables() (t [8][256]uint16) {
	for b := range t[0] {
		crc := uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		t[0][b] = crc
	}
	for k := 1; k < len(t); k++ {
		for b := range t[k] {
			crc := t[k-1][b]
			t[k][b] = crc<<8 ^ t[0][crc>>8]
		}
	}
	return t
}

// crc16 is the CRC16/XMODEM of s, which is eight bytes or longer.
func crc16(s string) uint16 {
	var a, b, c, d uint64 // the 32 bytes not folded yet, d the last eight
	if r := len(s) & 7; r != 0 {
		d = be64(s) >> (uint(64-8*r) & 63)
		s = s[r:]
	}
	for len(s) >= 8 {
		h := a // h*x^256 = h*x^192 + h*x^80 + h
		a = b ^ h
		b = c ^ h>>48
		c = d ^ h<<16
		d = be64(s) ^ h
		s = s[8:]
	}
	a ^= a >> 32 // a*x^128 = a*x^96 + a*x^40 + a, and the same with b
	b ^= a<<32 ^ a>>24
	c ^= a<<40 ^ a
	b ^= b >> 32
	c ^= b<<32 ^ b>>24
	d ^= b<<40 ^ b
	return crc16Words(c, d)
}

// crc16Short is crc16 for the few bytes on which folding does not pay.
func crc16Short(s string) (crc uint16) {
	for i := 0; i < len(s); i++ {
		crc = crc<<8 ^ crcTables[0][byte(crc>>8)^s[i]]
	}
	return crc
}

// load16 is s, of 3 to 16 bytes, as one big-endian number.
func load16(s string) (hi, lo uint64) {
	switch n := uint(len(s)); {
	case n >= 8:
		return be64(s) >> (128 - 8*n), be64(s[n-8:])
	case n >= 4:
		return 0, be32(s)<<((8*n-32)&63) | be32(s[n-4:])
	}
	return 0, uint64(s[0])<<16 | uint64(s[1])<<8 | uint64(s[2])
}

// crc16Words is the CRC of the sixteen bytes of hi and lo.
func crc16Words(hi, lo uint64) uint16 {
	if hi != 0 {
		over := hi>>16 ^ hi>>44 // what hi*x^48 + hi*x^20 leaves above x^64
		hi ^= over
		over = over>>16 ^ over>>44
		hi ^= over
		hi ^= over >> 16
		lo ^= hi ^ hi<<20 ^ hi<<48
	}
	t := &crcTables
	return (t[0][byte(lo)] ^ t[1][byte(lo>>8)]) ^ (t[2][byte(lo>>16)] ^ t[3][byte(lo>>24)]) ^
		((t[4][byte(lo>>32)] ^ t[5][byte(lo>>40)]) ^ (t[6][byte(lo>>48)] ^ t[7][lo>>56]))
}

// The compiler makes one load of each of these.

func be64(s string) uint64 {
	_ = s[7]
	return uint64(s[7]) | uint64(s[6])<<8 | uint64(s[5])<<16 | uint64(s[4])<<24 |
		uint64(s[3])<<32 | uint64(s[2])<<40 | uint64(s[1])<<48 | uint64(s[0])<<56
}

func be32(s string) uint64 {
	_ = s[3]
	return uint64(uint32(s[3]) | uint32(s[2])<<8 | uint32(s[1])<<16 | uint32(s[0])<<24)
}

// hasBrace reports whether one of the eight bytes of w is '{'.
func hasBrace(w uint64) bool {
	const ones = 0x0101010101010101
	x := w ^ ones*'{' // a zero byte where w has a brace
	return (x-ones)&^x&(ones*0x80) != 0
}

// view is b as a string without a copy. It must not outlive the call.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
