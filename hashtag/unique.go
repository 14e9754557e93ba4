package hashtag

// unique is the keys of an input without repetitions.
type unique struct {
	keys  []string
	input []int // for each key its last position in the input
	of    []int // for each position in the input its key; nil when nothing repeats
}

// lastOf takes each key once, at its last position.
func lastOf(keys []string) unique {
	u := unique{keys: keys, input: make([]int, len(keys))}
	seen := make(map[string]int, len(keys))
	for i, k := range keys {
		u.input[i] = i
		seen[k] = i
	}
	if len(seen) == len(keys) {
		return u
	}
	u.keys, u.input, u.of = make([]string, 0, len(seen)), make([]int, 0, len(seen)), make([]int, len(keys))
	for i, k := range keys {
		if seen[k] == i {
			u.of[i] = len(u.keys)
			u.keys, u.input = append(u.keys, k), append(u.input, i)
		}
	}
	for i, k := range keys {
		u.of[i] = u.of[seen[k]]
	}
	return u
}

// spread gives every position of the input the error of its key.
func (u unique) spread(err error, c *call, keys []string) error {
	if err == nil || u.of == nil {
		return err
	}
	errs := make([]error, len(keys))
	for i, n := range u.of {
		errs[i] = c.errs[n]
	}
	return partial(c.op, keys, errs)
}
