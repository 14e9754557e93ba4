package allnodes_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/allnodes"
	"github.com/rcctl/rcctl/audit/internal/audittest"
)

func TestTheMistakeIsFoundAndItsLookalikesAreNot(t *testing.T) {
	audittest.Run(t, allnodes.Analyzer)
}
