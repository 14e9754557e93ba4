package clustertest

import (
	"errors"
	"fmt"
	"time"
)

// A Fault is something that goes wrong with commands on one node. The zero
// matching fields match everything; the fields below say what happens, and
// may be combined (a delay before a lost reply). A fault that says nothing
// counts commands.
//
// What nodes send each other (PSYNC, REPLCONF, MIGRATE, RESTORE-ASKING) is
// spared unless Command names it. Several faults that match one command add
// up: delays by their sum, of the rest the first of each kind.
type Fault struct {
	// Command matches a command by its name, case-insensitively ("GET").
	// Empty matches every command.
	Command string
	// Key matches commands that name this key, by the command table of
	// redis-server 7.0; of a command that is not there every argument counts.
	// Empty matches every command.
	Key string
	// Times is how many commands are hit before the fault ends by itself.
	// Zero means until it is removed.
	Times int

	// Delay holds the command back this long before anything else.
	Delay time.Duration
	// Error is answered instead of executing the command, without the
	// leading '-': "LOADING Redis is loading the dataset in memory". In a
	// transaction it spoils the EXEC to come; in place of EXEC itself it ends
	// the transaction.
	Error string
	// DropBefore resets the connection without executing the command.
	DropBefore bool
	// DropAfter executes the command and resets the connection without an
	// answer: the caller cannot know whether it was applied.
	DropAfter bool
	// Truncate executes the command, sends this many bytes of the answer and
	// resets the connection. Zero means the whole answer.
	Truncate int
}

// validate returns one error that names every bad field.
func (f Fault) validate() error {
	var bad []error
	if f.Times < 0 {
		bad = append(bad, fmt.Errorf("Fault.Times is %d: use 1 or more, or 0 for no end", f.Times))
	}
	if f.Delay < 0 {
		bad = append(bad, fmt.Errorf("Fault.Delay is %v: use 0 or more", f.Delay))
	}
	if f.Truncate < 0 {
		bad = append(bad, fmt.Errorf("Fault.Truncate is %d: use 1 or more, or 0 for the whole answer", f.Truncate))
	}
	return errors.Join(bad...)
}

// An Injection is a fault at work on one node.
type Injection interface {
	// Hits is the number of commands hit so far.
	Hits() int
	// Remove ends the fault. It may be called twice.
	Remove()
}
