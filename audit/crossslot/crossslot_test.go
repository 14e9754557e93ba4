package crossslot_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/crossslot"
	"github.com/rcctl/rcctl/audit/internal/audittest"
)

func TestTheMistakeIsFoundAndItsLookalikesAreNot(t *testing.T) {
	audittest.Run(t, crossslot.Analyzer)
}
