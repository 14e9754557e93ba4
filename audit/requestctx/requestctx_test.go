package requestctx_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/internal/audittest"
	"github.com/rcctl/rcctl/audit/requestctx"
)

func TestTheMistakeIsFoundAndItsLookalikesAreNot(t *testing.T) {
	audittest.Run(t, requestctx.Analyzer)
}
