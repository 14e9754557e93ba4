package audit_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rcctl/rcctl/audit"
)

// rightly are the findings in this repository that are right, with the reason
// why the code stays as it is.
var rightly = map[string]string{
	"bench/guardian.go nakedlock":  "the baseline that the stampede scenario compares with: the lock as it was in the incident",
	"bench/guardian.go requestctx": "the same baseline: singleflight as it is commonly used",
}

func TestNoRuleFiresOnThisRepositoryUnlessRightlySo(t *testing.T) {
	res, err := audit.Run(t.Context(), audit.Options{Dir: ".."})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Findings {
		if rightly[f.File+" "+f.Rule] == "" {
			t.Errorf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
		}
	}
	for place := range rightly {
		if !slices.Contains(places(res), place) {
			t.Errorf("%s is no longer found; drop it from the list", place)
		}
	}
}

func TestNoRuleFiresOnGoRedisItself(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/redis/go-redis/v9").Output()
	if err != nil {
		t.Fatal(err)
	}
	res, err := audit.Run(t.Context(), audit.Options{Dir: filepath.Clean(strings.TrimSpace(string(out)))})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Findings {
		t.Errorf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
	}
	if res.Lines < 40_000 {
		t.Errorf("only %d lines were looked at", res.Lines)
	}
}
