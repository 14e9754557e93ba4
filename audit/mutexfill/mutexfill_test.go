package mutexfill_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/internal/audittest"
	"github.com/rcctl/rcctl/audit/mutexfill"
)

func TestTheMistakeIsFoundAndItsLookalikesAreNot(t *testing.T) {
	audittest.Run(t, mutexfill.Analyzer)
}
