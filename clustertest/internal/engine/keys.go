package engine

import (
	"strconv"
	"strings"
)

// keys appends the keys that args name to dst, in order.
func (c *command) keys(dst, args []string) []string {
	for i := range c.specs {
		dst = c.specs[i].appendKeys(dst, args)
	}
	if c.name == "migrate" && len(dst) > 0 && len(args) > 3 && args[3] == "" {
		dst = dst[1:] // "" stands for the KEYS that follow
	}
	return dst
}

// written appends the keys that the command may change.
func (c *command) written(dst, args []string) []string {
	for i := range c.specs {
		if c.specs[i].write {
			dst = c.specs[i].appendKeys(dst, args)
		}
	}
	return dst
}

func (s *keySpec) appendKeys(dst, args []string) []string {
	if s.unknown {
		return dst
	}
	first := s.index
	if s.keyword != "" {
		if first = s.search(args); first == 0 {
			return dst
		}
	}
	if first >= len(args) {
		return dst
	}
	last, step := 0, max(s.step, 1)
	if s.numKeys {
		at := first + s.numIdx
		if at >= len(args) {
			return dst
		}
		n, err := strconv.Atoi(args[at])
		if err != nil || n < 0 {
			return dst
		}
		first += s.firstKey
		step = max(s.numStep, 1)
		last = first + (n-1)*step
		if last >= len(args) || n > len(args) {
			return dst
		}
	} else {
		last = s.rangeEnd(first, len(args))
	}
	for i := first; i <= last && i < len(args); i += step {
		dst = append(dst, args[i])
	}
	return dst
}

func (s *keySpec) rangeEnd(first, n int) int {
	switch {
	case s.last >= 0:
		return first + s.last
	case s.limit <= 1:
		return n + s.last
	default: // the first 1/limit of what remains
		return first + (n-first)/s.limit + s.last
	}
}

// search finds the keyword and returns the index behind it, 0 if it is
// missing. A negative start searches backwards from the end.
func (s *keySpec) search(args []string) int {
	step, i, end := 1, s.from, len(args)
	if s.from < 0 {
		step, i, end = -1, len(args)+s.from, 0
	}
	for ; i != end && i > 0 && i < len(args); i += step {
		if strings.EqualFold(args[i], s.keyword) {
			return i + 1
		}
	}
	return 0
}
