package breaker

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestItOpensAfterARunOfFailuresAndOneSuccessEndsTheRun(t *testing.T) {
	var b Breaker
	for range 4 {
		if b.Failure() {
			t.Fatal("opened early")
		}
	}
	b.Success()
	for i := range 5 {
		if !b.Allow() {
			t.Fatal("refused while closed")
		}
		if opened := b.Failure(); opened != (i == 4) {
			t.Fatalf("failure %d: opened %v", i+1, opened)
		}
	}
	if b.Allow() || !b.Open() || b.Opened() != 1 {
		t.Error("not open")
	}
	if b.Failure() {
		t.Error("a late failure opened it again")
	}
	b.Success()
	if !b.Allow() || b.Open() {
		t.Error("a success did not close it")
	}
}

func TestOneCallerAtATimeTriesAfterTheOpenTimeThatDoubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Breaker{Threshold: 1}
		b.Failure()
		for _, open := range []time.Duration{100, 200, 400, 500, 500} {
			time.Sleep(open*time.Millisecond - 1)
			if b.Allow() {
				t.Fatalf("tried before %d ms", open)
			}
			time.Sleep(time.Nanosecond)
			var tried int
			for range 3 {
				if b.Allow() {
					tried++
				}
			}
			if tried != 1 {
				t.Fatalf("%d callers tried after %d ms", tried, open)
			}
			b.Failure()
		}
		b.Success()
		b.Failure()
		time.Sleep(100 * time.Millisecond)
		if !b.Allow() {
			t.Error("the open time did not start over")
		}
	})
}

func TestAProbedBreakerLetsNobodyTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Breaker{Probed: true}
		b.Trip()
		time.Sleep(time.Hour)
		if b.Allow() {
			t.Error("let a caller try")
		}
		b.Success()
		if !b.Allow() {
			t.Error("a success did not close it")
		}
	})
}

func TestOneOfManyConcurrentFailuresOpensIt(t *testing.T) {
	var b Breaker
	var wg sync.WaitGroup
	var mu sync.Mutex
	opened := 0
	for range 100 {
		wg.Go(func() {
			if b.Failure() {
				mu.Lock()
				opened++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if opened != 1 || b.Opened() != 1 {
		t.Errorf("opened %d times", opened)
	}
}

func BenchmarkAClosedBreaker(b *testing.B) {
	var br Breaker
	b.ReportAllocs()
	for b.Loop() {
		if br.Allow() {
			br.Success()
		}
	}
}
