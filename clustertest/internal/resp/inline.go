package resp

import "strings"

// splitInline splits an inline request as sdssplitargs does: words, "..."
// with escapes, '...' with \' only.
func splitInline(line []byte) ([]string, error) {
	var args []string
	i, n := 0, len(line)
	for {
		for i < n && isSpace(line[i]) {
			i++
		}
		if i == n {
			return args, nil
		}
		var word strings.Builder
		for i < n && !isSpace(line[i]) {
			if c := line[i]; c == '"' || c == '\'' {
				next, ok := quoted(line, i, &word)
				if !ok || next < n && !isSpace(line[next]) {
					return nil, protocolError("unbalanced quotes in request")
				}
				i = next
				break
			}
			word.WriteByte(line[i])
			i++
		}
		args = append(args, word.String())
	}
}

// quoted reads a quoted word that starts at line[i] and returns the index
// behind its end.
func quoted(line []byte, i int, word *strings.Builder) (int, bool) {
	quote := line[i]
	for i++; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			return i + 1, true
		case c != '\\' || i+1 == len(line):
			word.WriteByte(c)
		case quote == '\'':
			if line[i+1] == '\'' {
				i++
			}
			word.WriteByte(line[i])
		case line[i+1] == 'x' && i+3 < len(line) && isHex(line[i+2]) && isHex(line[i+3]):
			word.WriteByte(unhex(line[i+2])<<4 | unhex(line[i+3]))
			i += 3
		default:
			i++
			word.WriteByte(unescape(line[i]))
		}
	}
	return i, false
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
