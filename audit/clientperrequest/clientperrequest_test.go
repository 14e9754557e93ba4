package clientperrequest_test

import (
	"testing"

	"github.com/rcctl/rcctl/audit/clientperrequest"
	"github.com/rcctl/rcctl/audit/internal/audittest"
)

func TestClientsMadePerRequestAreFoundAndOthersAreNot(t *testing.T) {
	audittest.Run(t, clientperrequest.Analyzer)
}
