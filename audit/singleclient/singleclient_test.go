package singleclient_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/internal/audittest"
	"github.com/rcctl/rcctl/audit/singleclient"
)

func TestTheMistakeIsFoundAndItsLookalikesAreNot(t *testing.T) {
	audittest.Run(t, singleclient.Analyzer)
}
