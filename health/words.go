package health

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"syscall"
)

func count(r []SlotRange) (n int) {
	for _, x := range r {
		n += x.Count()
	}
	return n
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// names joins a set, at most three of it.
func names(set map[string]bool) string {
	s := slices.Sorted(maps.Keys(set))
	if len(s) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(s[:3], ", "), len(s)-3)
	}
	return strings.Join(s, ", ")
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// netFix is what to do about an error that is neither a reply nor a timeout.
// tls tells whether the client speaks TLS.
func netFix(err error, tls bool) string {
	var dns *net.DNSError
	text := err.Error()
	closed := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	switch {
	case errors.As(err, &dns):
		return "check the host name and the resolver"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: start the server, or correct the address"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route from here: wrong address, or one of another network"
	case strings.Contains(text, "x509:"):
		return "the certificate does not fit: check CA, server name and expiry"
	case strings.Contains(text, "certificate required"):
		return "the server wants a client certificate"
	case tls && closed, strings.Contains(text, "does not look like a TLS handshake"):
		return "probably a plain port: turn TLS off, or give the TLS port"
	case !tls && (closed || strings.Contains(text, "\x15\x03") || strings.Contains(text, `\x15\x03`)):
		return "the server closed the connection: if this is a TLS port, turn TLS on; if not, see its log"
	case closed:
		return "the server closed the connection: see its log"
	case strings.HasPrefix(text, "redis: can't parse"), strings.HasPrefix(text, "redis: invalid reply"):
		return "the answer is not the Redis protocol: check the port"
	}
	return ""
}
