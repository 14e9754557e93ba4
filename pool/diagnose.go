package pool

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// diagnose says what an error of a node means and what to do about it. cause
// is the error in few words.
func diagnose(err error, cfg Config) (fix string, cause error) {
	var reply redis.Error
	switch {
	case errors.As(err, &reply) && !errors.Is(err, redis.Nil):
		return fixReply(reply.Error(), cfg), err
	case errors.Is(err, redis.Nil):
		return "is this a Redis or Valkey server?", errors.New("an empty answer where none is possible")
	}
	var te *tlsError
	if errors.As(err, &te) {
		return diagnoseTLS(te)
	}
	return diagnoseNet(err, cfg)
}

// fixes by the beginning of an error reply; the first that fits counts.
var replyFixes = []struct{ prefix, fix string }{
	{"WRONGPASS", "check user name and password (Config.Username and Password; rcctl: --user and --password-file or RCCTL_PASSWORD)"},
	{"NOAUTH", "the server wants a password (Config.Password; rcctl: --password-file or RCCTL_PASSWORD)"},
	{"ERR AUTH <password> called without any password", "the server has no password for the default user: leave the password empty, or name the ACL user"},
	{"ERR invalid password", "check the password"},
	{"NOPERM", "the user lacks a right: beside the commands you use it needs " + strings.Join(LeastRights(), " ")},
	{"ERR max number of clients reached", "raise maxclients on the server, or use smaller pools (doctor: C13)"},
	{"LOADING", "the server is loading its data: try again when it is done"},
	{"MASTERDOWN", "a replica without its master: wait for the failover"},
	{"CLUSTERDOWN", "the cluster does not serve: see CLUSTER INFO and CLUSTER NODES, bring the missing masters back"},
	{"DENIED", "protected mode: the server takes only loopback clients until a password is set or protected-mode is no"},
}

func fixReply(msg string, cfg Config) string {
	for _, f := range replyFixes {
		if strings.HasPrefix(msg, f.prefix) || strings.HasPrefix(msg, "-"+f.prefix) {
			return f.fix
		}
	}
	return ""
}

func diagnoseTLS(te *tlsError) (fix string, cause error) {
	var rec tls.RecordHeaderError
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(te, &rec):
		return "this is a plain port: turn TLS off (rcctl: no --tls), or give the TLS port", errors.New("the answer is not TLS")
	case errors.As(te, &host):
		return "set TLS.ServerName (rcctl: --tls-server-name) to a name in the certificate, or have the certificate list the announced host", te
	case errors.As(te, &authority):
		return "the certificate is signed by a CA that is not trusted here: set TLS.RootCAs (rcctl: --tls-ca)", te
	case errors.As(te, &invalid):
		return "renew the certificate, or check the clocks", te
	case isTimeout(te):
		return "probably a plain port: turn TLS off (rcctl: no --tls), or give the TLS port", errors.New("TLS: no answer to the handshake")
	case errors.Is(te, io.EOF), errors.Is(te, syscall.ECONNRESET):
		return "probably a plain port: turn TLS off (rcctl: no --tls), or give the TLS port", errors.New("TLS: the connection was closed during the handshake")
	case strings.Contains(te.Error(), "certificate required"):
		return clientCertFix, te
	}
	return "", te
}

const clientCertFix = "the server wants a client certificate: set TLS.Certificates (rcctl: --tls-cert and --tls-key)"

func diagnoseNet(err error, cfg Config) (fix string, cause error) {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "check the host name and the resolver", dns
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: is the server up, is the port right?", errors.New("connection refused")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit of open files (LimitNOFILE, ulimit -n; doctor: L03)", err
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no free local port to this address: widen net.ipv4.ip_local_port_range, keep connections open (doctor: T07)", err
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route from here: wrong address, or an announced address of another network (AddrMap; rcctl: --addr-map)", err
	case errors.Is(err, redis.ErrPoolTimeout):
		return "all connections were busy for PoolTimeout: raise PoolSize (rcctl pool plan)", err
	case errors.Is(err, context.Canceled):
		return "", err
	case strings.Contains(err.Error(), "certificate required"):
		return clientCertFix, err
	case isTimeout(err):
		return "host down, packets dropped, server stalled, or an address that is not reachable from here (AddrMap; rcctl: --addr-map)",
			fmt.Errorf("no answer within the time allowed (dial %s, read %s)", cfg.DialTimeout, cfg.ReadTimeout)
	case closedEarly(err) && cfg.TLS == nil:
		return "if this is a TLS port, turn TLS on (Config.TLS; rcctl: --tls); if not, see the server's log",
			errors.New("the server closed the connection without an answer")
	case closedEarly(err):
		return "see the server's log; a server that wants a client certificate closes like this (TLS.Certificates; rcctl: --tls-cert and --tls-key)",
			errors.New("the server closed the connection without an answer")
	}
	return "", err
}

// closedEarly reports an end of the connection, or bytes that are no RESP: a
// TLS port answers a plain client with an alert, or not at all.
func closedEarly(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || strings.Contains(err.Error(), "\\x15\\x03") || strings.Contains(err.Error(), "\x15\x03")
}

// nodeError is an error about a node with its diagnosis.
func nodeError(addr string, err error, cfg Config) *NodeError {
	if ne := (*NodeError)(nil); errors.As(err, &ne) {
		return ne
	}
	fix, cause := diagnose(err, cfg)
	return &NodeError{Addr: addr, Err: cause, Fix: fix}
}

// LeastRights are the ACL rules that a pool needs beside those for the commands
// and keys of the application, as ACL SETUSER takes them. From Redis 7.2 on
// +client|setinfo lets CLIENT LIST show the library.
func LeastRights() []string {
	return []string{"+hello", "+auth", "+ping", "+cluster|slots", "+cluster|info", "+client|setname", "+asking", "+readonly"}
}
