package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// ErrOtherTraffic matches the refusal to run on a cluster that other clients
// use. Set Options.Staging if the load may meet them.
var ErrOtherTraffic = errors.New("the cluster is in use by others")

// errorKind names an error for counting: few words, no addresses. Empty means
// that there was none; a missing key is none.
func errorKind(err error) string {
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		return ""
	case errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted):
		return "pool timeout"
	case errors.Is(err, redis.ErrClosed):
		return "client closed"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection lost"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no local port left"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many open files"
	}
	var re redis.Error
	if errors.As(err, &re) {
		return replyKind(re.Error())
	}
	var ne net.Error
	if errors.As(err, &ne) {
		if ne.Timeout() {
			return "timeout"
		}
		return "network"
	}
	if strings.Contains(strings.ToLower(fmt.Sprintf("%T", err)), "unavailable") || strings.Contains(err.Error(), "unavailable") {
		return "unavailable"
	}
	return "other"
}

// replyKind is the prefix of an error reply; "max number of clients reached"
// has none of its own.
func replyKind(msg string) string {
	if strings.Contains(msg, "max number of clients") {
		return "max clients reached"
	}
	word, _, _ := strings.Cut(msg, " ")
	if word != "" && word == strings.ToUpper(word) && len(word) <= 20 {
		return word
	}
	return "error reply"
}
