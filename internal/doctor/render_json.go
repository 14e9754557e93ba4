package doctor

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a report or a snapshot as one indented JSON document.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
