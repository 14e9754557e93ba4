package audit

import (
	"cmp"
	"fmt"
	"go/format"
	"os"
	"slices"
)

// Fix applies the changes of all findings that have one and writes the files,
// formatted. A change that overlaps an earlier one is left for the next run.
// It returns the files it wrote and the number of findings that are gone.
func (r *Result) Fix() (files []string, fixed int, err error) {
	byFile := map[string][]edit{}
	for _, f := range r.Findings {
		if len(f.edits) == 0 || slices.ContainsFunc(f.edits, func(e edit) bool { return overlaps(e, byFile[e.path]) }) {
			continue
		}
		for _, e := range f.edits {
			if !slices.Contains(byFile[e.path], e) { // two findings may want the same import
				byFile[e.path] = append(byFile[e.path], e)
			}
		}
		fixed++
	}
	for path, edits := range byFile {
		if err := rewrite(path, edits); err != nil {
			return files, fixed, err
		}
		files = append(files, path)
	}
	slices.Sort(files)
	return files, fixed, nil
}

func overlaps(e edit, others []edit) bool {
	return slices.ContainsFunc(others, func(o edit) bool { return e != o && e.start < o.end && o.start < e.end })
}

func rewrite(path string, edits []edit) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(b.start, a.start) })
	for _, e := range edits {
		if e.end > len(src) {
			return fmt.Errorf("%s changed while it was looked at; run again", path)
		}
		src = slices.Concat(src[:e.start], []byte(e.text), src[e.end:])
	}
	if out, err := format.Source(src); err == nil {
		src = out
	}
	return os.WriteFile(path, src, info.Mode().Perm())
}
