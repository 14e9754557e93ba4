package health

import (
	"fmt"
	"strconv"
	"testing"
)

// BenchmarkJudge is the processor time of a report, without asking anybody.
func BenchmarkJudge(b *testing.B) {
	for _, shards := range []int{3, 100} {
		b.Run("shards="+strconv.Itoa(shards), func(b *testing.B) {
			var nodes []fakeNode
			for i := range shards {
				id := fmt.Sprintf("m%d", i)
				slots := fmt.Sprintf("%d-%d", i*slotCount/shards, (i+1)*slotCount/shards-1)
				nodes = append(nodes,
					fakeNode{id: id, host: "10.0.0.1", port: 7000 + i, epoch: i, slots: []string{slots}, state: "ok"},
					fakeNode{id: "r" + id, host: "10.0.0.2", port: 7000 + i, master: id, info: replicaInfo, state: "ok"})
			}
			r := fakeRound(b, nodes...)
			b.ReportAllocs()
			for b.Loop() {
				if rep := judge(r, buildTopology(r.answers)); rep.Verdict != OK {
					b.Fatal(rep.Reasons)
				}
			}
		})
	}
}
