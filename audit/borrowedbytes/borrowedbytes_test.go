package borrowedbytes_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/borrowedbytes"
	"github.com/rcctl/rcctl/audit/internal/audittest"
)

func TestTheMistakeIsFoundAndItsLookalikesAreNot(t *testing.T) {
	audittest.Run(t, borrowedbytes.Analyzer)
}
