package lateforget_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/internal/audittest"
	"github.com/rcctl/rcctl/audit/lateforget"
)

func TestTheMistakeIsFoundAndItsLookalikesAreNot(t *testing.T) {
	audittest.Run(t, lateforget.Analyzer)
}

func TestTheFixCompilesToTheGoldenFile(t *testing.T) {
	audittest.RunWithFixes(t, lateforget.Analyzer, "bad")
}
