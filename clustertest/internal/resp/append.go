package resp

import (
	"math"
	"strconv"
)

// AppendCommand appends a command as a client sends it.
func AppendCommand(b []byte, args ...string) []byte {
	b = AppendArray(b, len(args))
	for _, a := range args {
		b = AppendBulk(b, a)
	}
	return b
}

// AppendSimple appends a simple string; line breaks become spaces.
func AppendSimple(b []byte, s string) []byte { return appendLine(b, '+', s) }

// AppendError appends an error; s starts with its code ("ERR ..."), without
// the '-'. Line breaks become spaces.
func AppendError(b []byte, s string) []byte { return appendLine(b, '-', s) }

func appendLine(b []byte, kind byte, s string) []byte {
	b = append(b, kind)
	for i := range len(s) {
		c := s[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		b = append(b, c)
	}
	return append(b, '\r', '\n')
}

// AppendInt appends an integer.
func AppendInt(b []byte, n int64) []byte { return appendHead(b, ':', n) }

// AppendBulk appends a bulk string.
func AppendBulk(b []byte, s string) []byte {
	b = appendHead(b, '$', int64(len(s)))
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// AppendArray appends the head of an array of n elements.
func AppendArray(b []byte, n int) []byte { return appendHead(b, '*', int64(n)) }

// AppendNullArray appends the null that stands for a missing array: "*-1", or
// "_" in RESP3.
func AppendNullArray(b []byte, proto int) []byte {
	if proto == 3 {
		return append(b, "_\r\n"...)
	}
	return append(b, "*-1\r\n"...)
}

// AppendNull appends the null that stands for a missing string: "$-1", or "_"
// in RESP3.
func AppendNull(b []byte, proto int) []byte {
	if proto == 3 {
		return append(b, "_\r\n"...)
	}
	return append(b, "$-1\r\n"...)
}

// AppendMap appends the head of a map of n pairs; an array of 2n in RESP2.
func AppendMap(b []byte, n, proto int) []byte {
	if proto == 3 {
		return appendHead(b, '%', int64(n))
	}
	return AppendArray(b, 2*n)
}

// AppendSet appends the head of a set of n elements; an array in RESP2.
func AppendSet(b []byte, n, proto int) []byte {
	if proto == 3 {
		return appendHead(b, '~', int64(n))
	}
	return AppendArray(b, n)
}

// AppendPush appends the head of a push of n elements; an array in RESP2.
func AppendPush(b []byte, n, proto int) []byte {
	if proto == 3 {
		return appendHead(b, '>', int64(n))
	}
	return AppendArray(b, n)
}

// AppendBool appends a boolean; 1 or 0 in RESP2.
func AppendBool(b []byte, v bool, proto int) []byte {
	switch {
	case proto == 3 && v:
		return append(b, "#t\r\n"...)
	case proto == 3:
		return append(b, "#f\r\n"...)
	case v:
		return AppendInt(b, 1)
	}
	return AppendInt(b, 0)
}

// AppendDouble appends a floating point number; a bulk string in RESP2.
func AppendDouble(b []byte, f float64, proto int) []byte {
	s := strconv.FormatFloat(f, 'g', 17, 64)
	if short := strconv.FormatFloat(f, 'g', -1, 64); len(short) < len(s) {
		s = short
	}
	switch {
	case math.IsInf(f, 1):
		s = "inf"
	case math.IsInf(f, -1):
		s = "-inf"
	case math.IsNaN(f):
		s = "nan"
	}
	if proto == 3 {
		b = append(b, ',')
		b = append(b, s...)
		return append(b, '\r', '\n')
	}
	return AppendBulk(b, s)
}

// AppendVerbatim appends text that is meant for people; a bulk string in
// RESP2.
func AppendVerbatim(b []byte, text string, proto int) []byte {
	if proto != 3 {
		return AppendBulk(b, text)
	}
	b = appendHead(b, '=', int64(len(text)+4))
	b = append(b, "txt:"...)
	b = append(b, text...)
	return append(b, '\r', '\n')
}

func appendHead(b []byte, kind byte, n int64) []byte {
	b = append(b, kind)
	b = strconv.AppendInt(b, n, 10)
	return append(b, '\r', '\n')
}
