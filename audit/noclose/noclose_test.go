package noclose_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/internal/audittest"
	"github.com/rcctl/rcctl/audit/noclose"
)

func TestTheMistakeIsFoundAndItsLookalikesAreNot(t *testing.T) {
	audittest.Run(t, noclose.Analyzer)
}

func TestTheFixCompilesToTheGoldenFile(t *testing.T) {
	audittest.RunWithFixes(t, noclose.Analyzer, "bad")
}
