package resp

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
)

// A Reader reads commands or replies from a stream. It is not safe for
// concurrent use.
type Reader struct {
	br *bufio.Reader
}

// NewReader returns a Reader with a buffer of 16 KiB.
func NewReader(r io.Reader) *Reader {
	return &Reader{br: bufio.NewReaderSize(r, 16<<10)}
}

// Buffered is the number of bytes that can be read without blocking.
func (r *Reader) Buffered() int { return r.br.Buffered() }

// Wait blocks until a byte can be read, without consuming it. The error is
// that of the stream.
func (r *Reader) Wait() error {
	_, err := r.br.Peek(1)
	return err
}

// Read reads bytes as they are, for what follows a PSYNC.
func (r *Reader) Read(p []byte) (int, error) { return r.br.Read(p) }

// ReadCommand reads one command: a multibulk request or an inline one. Empty
// requests are passed over, as Redis does. The error is io.EOF at a clean end,
// io.ErrUnexpectedEOF inside a command, or matches [ErrProtocol].
func (r *Reader) ReadCommand() ([]string, error) {
	args, _, err := r.readCommand(nil, false)
	return args, err
}

// ReadRawCommand is [Reader.ReadCommand] that also appends the bytes it read
// to dst.
func (r *Reader) ReadRawCommand(dst []byte) (args []string, raw []byte, err error) {
	return r.readCommand(dst, true)
}

func (r *Reader) readCommand(dst []byte, keep bool) ([]string, []byte, error) {
	for {
		line, err := r.line(true)
		if err != nil {
			return nil, dst, err
		}
		if keep {
			dst = append(dst, line...)
		}
		if line[0] != '*' {
			args, err := splitInline(trimEOL(line))
			if err != nil || len(args) > 0 {
				return args, dst, err
			}
			continue
		}
		n, ok := parseInt(trimEOL(line)[1:])
		if !ok || n > maxElements {
			return nil, dst, protocolError("invalid multibulk length")
		}
		if n <= 0 {
			continue
		}
		args := make([]string, 0, min(n, 64))
		for range n {
			var arg string
			arg, dst, err = r.argument(dst, keep)
			if err != nil {
				return nil, dst, unexpected(err)
			}
			args = append(args, arg)
		}
		return args, dst, nil
	}
}

// argument reads one bulk string of a multibulk request.
func (r *Reader) argument(dst []byte, keep bool) (string, []byte, error) {
	line, err := r.line(true)
	if err != nil {
		return "", dst, err
	}
	if line[0] != '$' {
		c := line[0]
		return "", dst, protocolError("expected '$', got '%c'", c)
	}
	if keep {
		dst = append(dst, line...)
	}
	n, ok := parseInt(trimEOL(line)[1:])
	if !ok || n < 0 || n > maxBulk {
		return "", dst, protocolError("invalid bulk length")
	}
	// Short arguments are cut out of the buffer, with one copy.
	if buf, err := r.br.Peek(n + 2); err == nil {
		s := string(buf[:n])
		if keep {
			dst = append(dst, buf...)
		}
		r.br.Discard(n + 2)
		return s, dst, nil
	}
	var b []byte
	if b, err = r.appendN(nil, n+2); err != nil {
		return "", dst, err
	}
	if keep {
		dst = append(dst, b...)
	}
	return string(b[:n]), dst, nil
}

// line reads up to and with '\n'. The result is valid until the next read.
func (r *Reader) line(command bool) ([]byte, error) {
	line, err := r.br.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		long := bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			if len(long) > maxInline {
				if command && long[0] != '*' && long[0] != '$' {
					return nil, protocolError("too big inline request")
				}
				return nil, protocolError("too big line")
			}
			line, err = r.br.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if err != nil {
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return line, nil
}

// appendN reads exactly n bytes, growing as they come, so that a length that
// lies costs no memory.
func (r *Reader) appendN(dst []byte, n int) ([]byte, error) {
	const step = 1 << 20
	for n > 0 {
		k := min(n, step)
		at := len(dst)
		dst = append(dst, make([]byte, k)...)
		if _, err := io.ReadFull(r.br, dst[at:]); err != nil {
			return dst[:at], unexpected(err)
		}
		n -= k
	}
	return dst, nil
}

// AppendReply reads one whole reply, pushes and attributes included, and
// appends its bytes to dst. The error is io.EOF at a clean end.
func (r *Reader) AppendReply(dst []byte) ([]byte, error) {
	return r.appendReply(dst, 0)
}

func (r *Reader) appendReply(dst []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, protocolError("reply nested deeper than %d", maxDepth)
	}
	line, err := r.line(false)
	if err != nil {
		return dst, err
	}
	dst = append(dst, line...)
	head := trimEOL(line)
	if len(head) == 0 {
		return dst, protocolError("empty reply line")
	}
	switch head[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return dst, nil
	case '$', '=', '!':
		n, ok := parseInt(head[1:])
		if !ok || n < -1 || n > maxBulk {
			return dst, protocolError("invalid bulk length")
		}
		if n < 0 {
			return dst, nil
		}
		return r.appendN(dst, n+2)
	case '*', '~', '>', '%', '|':
		n, ok := parseInt(head[1:])
		if !ok || n < -1 || n > 1<<28 {
			return dst, protocolError("invalid length of an aggregate")
		}
		kind := head[0]
		if kind == '%' || kind == '|' {
			n *= 2
		}
		if kind == '|' {
			n++ // the reply that the attribute belongs to
		}
		for range max(n, 0) {
			if dst, err = r.appendReply(dst, depth+1); err != nil {
				return dst, unexpected(err)
			}
		}
		return dst, nil
	}
	return dst, protocolError("unknown type %q of a reply", head[0])
}

// ReadReply reads one reply and decodes it.
func (r *Reader) ReadReply() (Value, error) {
	raw, err := r.AppendReply(nil)
	if err != nil {
		return Value{}, err
	}
	v, _, err := Decode(raw)
	return v, err
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func trimEOL(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

func parseInt(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 11 {
		return 0, false
	}
	n, err := strconv.Atoi(string(b))
	return n, err == nil && b[0] != '+'
}
