package clustertest

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/rcctl/rcctl/clustertest/internal/fault"
	"github.com/rcctl/rcctl/clustertest/internal/proxy"
	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// errNoProxy is the answer of faults without a proxy.
var errNoProxy = fmt.Errorf("processes without Processes.Proxy: %w", ErrNotSupported)

// Inject implements [Server].
func (s *process) Inject(f Fault) (Injection, error) {
	if s.proxy == nil {
		return nil, errNoProxy
	}
	return s.proxy.Inject(fault.Fault(f)), nil
}

// FreezeView implements [Server].
func (s *process) FreezeView(frozen bool) error {
	if s.proxy == nil {
		return errNoProxy
	}
	if !frozen {
		s.proxy.Freeze(nil)
		return nil
	}
	var v proxy.View
	for _, protocol := range []string{"2", "3"} {
		replies, err := s.topology(protocol)
		if err != nil {
			return err
		}
		v[protocol[0]-'0'] = replies
	}
	s.proxy.Freeze(&v)
	return nil
}

// topology asks the node for its view and returns the replies as they are.
func (s *process) topology(protocol string) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	conn, err := s.DialDirect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := deadline(ctx, conn); err != nil {
		return nil, err
	}
	in := resp.NewReader(conn)
	ask := func(args ...string) ([]byte, error) {
		if _, err := conn.Write(resp.AppendCommand(nil, args...)); err != nil {
			return nil, err
		}
		reply, err := in.AppendReply(nil)
		if err == nil && reply[0] == '-' {
			err = fmt.Errorf("%s: %s", args[0], strings.TrimSpace(string(reply[1:])))
		}
		return reply, err
	}
	hello := []string{"HELLO", protocol}
	if s.password != "" {
		hello = append(hello, "AUTH", "default", s.password)
	}
	if _, err := ask(hello...); err != nil {
		return nil, err
	}
	replies := map[string][]byte{}
	for _, what := range []string{"SLOTS", "SHARDS", "NODES", "INFO"} {
		if replies[what], err = ask("CLUSTER", what); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// deadline gives a connection the deadline of a context.
func deadline(ctx context.Context, conn net.Conn) error {
	if t, ok := ctx.Deadline(); ok {
		return conn.SetDeadline(t)
	}
	return nil
}

// PauseReplication implements [Server].
func (s *process) PauseReplication(paused bool) error {
	if s.proxy == nil {
		return errNoProxy
	}
	// Replicas give their master the port that they announce.
	_, port, err := net.SplitHostPort(s.announce)
	if err != nil {
		return err
	}
	s.inst.replicas.Hold(port, paused)
	return nil
}
