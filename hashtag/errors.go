package hashtag

import (
	"errors"
	"fmt"
)

var (
	// ErrPartial matches the error of a multi-key operation in which at least
	// one key has no answer. The answers of the other keys are valid. Callers
	// who want all or nothing stop here; others ask the [PartialError] which
	// keys failed, and why.
	ErrPartial = errors.New("not every key has an answer")

	// ErrUnknown matches the error of a key, or of a transaction, that was
	// sent and not answered, or was about to be sent when the time was over:
	// it may have been applied or not. Read the key before you repeat what
	// must not happen twice.
	ErrUnknown = errors.New("outcome unknown, the command may have been applied")

	// ErrNotExecuted matches the error of a [Tx] or [Watch] whose transaction
	// or function did not run. Nothing was changed; it may be repeated.
	ErrNotExecuted = errors.New("not executed")
)

// A KeyError says why one key has no answer.
type KeyError struct {
	Index int    // position in the input
	Key   string // the key
	Slot  int    // its slot
	Err   error  // matches ErrUnknown when a change may have been applied
}

// Error names the key and its slot.
func (e KeyError) Error() string { return fmt.Sprintf("key %q (slot %d): %v", e.Key, e.Slot, e.Err) }

// Unwrap is the reason.
func (e KeyError) Unwrap() error { return e.Err }

// A PartialError holds the keys of a multi-key operation that have no answer.
// It matches [ErrPartial] and everything that one of its keys' errors matches.
type PartialError struct {
	Op   string     // "MGet", "Del" ...
	Of   int        // number of keys in the input, at least len(Keys)
	Keys []KeyError // at least one, in input order
}

// Error names the first key and counts the others.
func (e *PartialError) Error() string {
	s := fmt.Sprintf("%s: %d of %d keys have no answer: %v", e.Op, len(e.Keys), e.Of, e.Keys[0])
	if n := len(e.Keys) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// Is makes errors.Is(err, ErrPartial) true.
func (e *PartialError) Is(target error) bool { return target == ErrPartial }

// Unwrap returns the errors of the keys.
func (e *PartialError) Unwrap() []error {
	errs := make([]error, len(e.Keys))
	for i := range e.Keys {
		errs[i] = e.Keys[i]
	}
	return errs
}
