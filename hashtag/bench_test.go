package hashtag_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rcctl/rcctl/hashtag"
)

// The slot function of go-redis v9.23.0 (internal/hashtag/hashtag.go, BSD
// 2-Clause, Copyright 2013 The github.com/redis/go-redis Authors; CRC16
// Copyright 2001-2010 Georges Menie, 2013 The Go Authors), kept here as the
// reference: the package is internal there. Its table is filled by
// goRedisTable instead of being written out.
var goRedisTab = goRedisTable()

func goRedisTable() (t [256]uint16) {
	for b := range t {
		crc := uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		t[b] = crc
	}
	return t
}

func goRedisKey(key string) string {
	if s := strings.IndexByte(key, '{'); s > -1 {
		if e := strings.IndexByte(key[s+1:], '}'); e > 0 {
			return key[s+1 : s+e+1]
		}
	}
	return key
}

func goRedisSlot(key string) int {
	if key == "" {
		return rand.IntN(16384)
	}
	key = goRedisKey(key)
	return int(goRedisCRC16(key)) % 16384
}

func goRedisCRC16(key string) (crc uint16) {
	for i := 0; i < len(key); i++ {
		crc = (crc << 8) ^ goRedisTab[(byte(crc>>8)^key[i])&0x00ff]
	}
	return
}

var slotImpls = []struct {
	name string
	slot func(string) int
}{
	{"rcctl", hashtag.Slot},
	{"go-redis", goRedisSlot},
}

// BenchmarkSlot shows both functions side by side, on keys without a tag (by
// length), on a usual key with one, and on short keys with braces.
func BenchmarkSlot(b *testing.B) {
	keys := map[string]string{"tag": "{user:1000}:profile", "shorttag": "a:{b1}", "braces": "a{}b"}
	names := []string{"tag", "shorttag", "braces"}
	for _, n := range []int{1, 4, 8, 16, 32, 64, 128, 256, 1024} {
		name := fmt.Sprintf("len=%d", n)
		names = append(names, name)
		keys[name] = strings.Repeat("k", n)
	}
	for _, name := range names {
		for _, impl := range slotImpls {
			b.Run(name+"/impl="+impl.name, func(b *testing.B) {
				key := keys[name]
				b.ReportAllocs()
				for b.Loop() {
					impl.slot(key)
				}
			})
		}
	}
}

// BenchmarkSlotSpeedup compares on every length from 1 to 1024. Both functions
// take turns on the same keys; the fastest of the turns of each is compared,
// which other programs on the machine disturb least. The reference runs a
// second time, as the A/A row. One iteration is 9 turns for every length.
//
// Reported: how many times as fast Slot is on 16 and 64 bytes, and at the
// worst of all lengths; and the same of the reference against itself.
func BenchmarkSlotSpeedup(b *testing.B) {
	const turns, keysPerLength = 9, 32
	impls := []func(string) int{hashtag.Slot, goRedisSlot, goRedisSlot}
	best := make([][]time.Duration, 1025)
	for n := range best {
		best[n] = []time.Duration{time.Hour, time.Hour, time.Hour}
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for b.Loop() {
		for n := 1; n < len(best); n++ {
			keys := make([]string, keysPerLength)
			for i := range keys {
				key := make([]byte, n)
				for j := range key {
					key[j] = byte('a' + rnd.IntN(26))
				}
				keys[i] = string(key)
			}
			for turn := range turns {
				for i := range impls {
					i = (i + turn) % len(impls)
					start := time.Now()
					for range 1 + 400/(n+4) {
						for _, k := range keys {
							impls[i](k)
						}
					}
					best[n][i] = min(best[n][i], time.Since(start))
				}
			}
		}
	}
	worst, worstAA, at := 1e9, 1e9, 0
	for n := 1; n < len(best); n++ {
		t := best[n]
		if s := t[1].Seconds() / t[0].Seconds(); s < worst {
			worst, at = s, n
		}
		worstAA = min(worstAA, t[1].Seconds()/t[2].Seconds())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(best[16][1].Seconds()/best[16][0].Seconds(), "x-at-16")
	b.ReportMetric(best[64][1].Seconds()/best[64][0].Seconds(), "x-at-64")
	b.ReportMetric(best[1024][1].Seconds()/best[1024][0].Seconds(), "x-at-1024")
	b.ReportMetric(worst, "x-at-worst")
	b.ReportMetric(float64(at), "worst-length")
	b.ReportMetric(worstAA, "x-AA-worst")
}
