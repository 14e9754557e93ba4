package fixedttl_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/fixedttl"
	"github.com/rcctl/rcctl/audit/internal/audittest"
)

func TestTheMistakeIsFoundAndItsLookalikesAreNot(t *testing.T) {
	audittest.Run(t, fixedttl.Analyzer)
}
