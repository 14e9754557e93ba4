package hashtag

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

// A cluster client puts the error of a handshake on the command and tries
// again; what a broken connection brings after an answer is no outcome.
func TestATrackedCommandKeepsItsAnswer(t *testing.T) {
	handshake, broken := serverError("ERR max number of clients reached"), fmt.Errorf("broken connection")
	for _, tc := range []struct {
		name     string
		outcomes []error
		want     error
	}{
		{"answered after a failed handshake", []error{handshake, nil}, nil},
		{"answered, then broken", []error{nil, broken}, nil},
		{"refused, then broken", []error{serverError("NOPERM"), broken}, serverError("NOPERM")},
	} {
		c := &tracked{Cmder: redis.NewIntCmd(t.Context(), "del", "a")}
		for _, err := range tc.outcomes {
			c.SetErr(err)
		}
		if c.Err() != tc.want || !c.answered {
			t.Errorf("%s: %v, answered %v", tc.name, c.Err(), c.answered)
		}
	}
}
