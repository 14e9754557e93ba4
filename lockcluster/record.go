package lockcluster

import (
	"encoding/hex"
	"time"
)

// A record is a STRING at the user's key: a header of fixed size, then the
// payload. Numbers are big-endian, times are milliseconds of the server's
// clock. Scripts rewrite the header in place, so that a lease on a large value
// costs nothing.
//
//	 0  4  magic and version
//	 4  1  kind
//	 5  1  flags: bit 0, somebody waits for the lease
//	 6  2  failed loads in a row
//	 8  6  fresh until
//	14  6  stale until: when the value is gone
//	20  6  cooling down until
//	26  6  lease end
//	32  4  fresh length (ms)
//	36  4  load time (ms)
//	40  4  generation: fills since the record came to be
//	44 12  fill id: the token of the fill, or of the invalidation, that wrote it
//	56 12  lease token, zeros when nobody holds it
//	68  8  digest of the payload (PlainValues only)
//	76  4  reserved, zeros
const (
	headerLen = 80
	magic     = "\xf7rc\x01" // 0xf7 starts no UTF-8 text
)

type kind byte

const (
	kindNone     kind = iota // only a lease, failures, or a tombstone
	kindValue                // the payload is a value
	kindNotFound             // the loader said that there is nothing
)

const flagWaits = 1

// token identifies a lease, a fill, or an invalidation.
type token [12]byte

func (t token) String() string { return hex.EncodeToString(t[:]) }
func (t token) zero() bool     { return t == token{} }

type header struct {
	kind       kind
	flags      byte
	fails      int
	freshUntil int64
	staleUntil int64
	coolUntil  int64
	leaseEnd   int64
	freshLen   int64
	delta      int64
	gen        int64
	fill       token
	lease      token
	digest     [8]byte
}

func bigEndian[B string | []byte](s B, from, to int) int64 {
	var v int64
	for i := from; i < to; i++ {
		v = v<<8 | int64(s[i])
	}
	return v
}

// parseHeader reads the header of a record; ok is false when s is none.
func parseHeader[B string | []byte](s B) (h header, ok bool) {
	if len(s) < headerLen || string(s[:len(magic)]) != magic || s[4] > byte(kindNotFound) {
		return header{}, false
	}
	h = header{
		kind:       kind(s[4]),
		flags:      s[5],
		fails:      int(bigEndian(s, 6, 8)),
		freshUntil: bigEndian(s, 8, 14),
		staleUntil: bigEndian(s, 14, 20),
		coolUntil:  bigEndian(s, 20, 26),
		leaseEnd:   bigEndian(s, 26, 32),
		freshLen:   bigEndian(s, 32, 36),
		delta:      bigEndian(s, 36, 40),
		gen:        bigEndian(s, 40, 44),
	}
	copy(h.fill[:], s[44:56])
	copy(h.lease[:], s[56:68])
	copy(h.digest[:], s[68:76])
	return h, true
}

// held reports whether somebody holds the lease at a server time.
func (h *header) held(nowMS int64) bool { return !h.lease.zero() && h.leaseEnd > nowMS }

// freshFor is how long the value stays fresh, within [0, its fresh length]: a
// clock that is wrong never makes a value live longer than it was meant to.
func (h *header) freshFor(nowMS int64) time.Duration {
	return time.Duration(min(max(h.freshUntil-nowMS, 0), h.freshLen)) * time.Millisecond
}

func (h *header) usable(nowMS int64) bool { return h.kind != kindNone && h.staleUntil > nowMS }
