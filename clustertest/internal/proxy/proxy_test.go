package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rcctl/rcctl/clustertest/internal/fault"
	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server answers as a node does, as far as the proxy can tell.
type server struct {
	net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex // guards what follows
	conns []net.Conn
	seen  []string // names of commands
}

func startServer(t testing.TB) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Listener: l}
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			s.wg.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, conn := range s.conns {
			conn.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	in := resp.NewReader(conn)
	for {
		args, err := in.ReadCommand()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.seen = append(s.seen, args[0])
		s.mu.Unlock()
		if _, err := conn.Write(answer(args)); err != nil {
			return
		}
	}
}

func answer(args []string) []byte {
	switch args[0] {
	case "ECHO":
		return resp.AppendBulk(nil, args[1])
	case "RAW": // the reply is the argument
		return []byte(args[1])
	case "HELLO":
		return []byte("%1\r\n+proto\r\n:" + args[1] + "\r\n")
	case "SUBSCRIBE", "PUSHSUBSCRIBE":
		var b []byte
		for i, ch := range args[1:] {
			b = resp.AppendPush(b, 3, 2)
			b = resp.AppendInt(resp.AppendBulk(resp.AppendBulk(b, "subscribe"), ch), int64(i+1))
		}
		return b
	case "MULTI":
		return []byte("+OK\r\n")
	case "PSYNC":
		return []byte("\n\n+FULLRESYNC x 0\r\n$EOF:raw bytes, no reply")
	}
	return []byte("+" + args[0] + "\r\n")
}

func (s *server) commands() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, " ")
}

func allArgs(args []string) []string { return args[1:] }

// start puts a proxy in front of a server.
func start(t testing.TB) (*Proxy, *server) {
	t.Helper()
	s := startServer(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	p := New(addr, s.Addr().String(), "", allArgs, &Replicas{})
	if err := p.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p, s
}

func dial(t testing.TB, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// talk sends bytes, says that no more come, and reads all that come back.
func talk(t testing.TB, p *Proxy, send string) (string, error) {
	t.Helper()
	conn := dial(t, p)
	if _, err := io.WriteString(conn, send); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	return string(got), err
}

func cmd(args ...string) string { return string(resp.AppendCommand(nil, args...)) }

func TestWhatNoFaultAsksForPassesByteForByte(t *testing.T) {
	p, _ := start(t)
	big := strings.Repeat("x", 3<<20)
	for _, reply := range []string{
		"+OK\r\n", "-ERR no\r\n", ":1\r\n", "$-1\r\n", "*-1\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n",
		"=7\r\ntxt:abc\r\n", "!3\r\nERR\r\n", "$0\r\n\r\n", "*2\r\n*1\r\n:1\r\n$3\r\na\r\n\r\n", "%1\r\n+a\r\n~1\r\n:1\r\n",
		"|1\r\n+ttl\r\n:1\r\n+value\r\n", "$" + strconv.Itoa(len(big)) + "\r\n" + big + "\r\n",
	} {
		got, err := talk(t, p, cmd("RAW", reply))
		if got != reply || err != nil {
			t.Errorf("a reply of %d bytes came as %d bytes, %v: %.60q", len(reply), len(got), err, got)
		}
	}
	if got, err := talk(t, p, "PING\r\n  \r\nECHO \"a b\"\r\n"); got != "+PING\r\n$3\r\na b\r\n" || err != nil {
		t.Errorf("inline commands answer %q, %v", got, err)
	}
	if got, err := talk(t, p, cmd("PING")+"*1\r\n$x\r\n"); !strings.HasPrefix(got, "+PING\r\n-ERR Protocol error") || err != nil {
		t.Errorf("a broken command answers %q, %v", got, err)
	}
}

func TestAPipelineKeepsItsOrderWhateverFaultsHitIt(t *testing.T) {
	p, s := start(t)
	p.Inject(fault.Fault{Command: "BAD", Error: "ERR bad"})
	slow := p.Inject(fault.Fault{Command: "SLOW", Delay: 5 * time.Millisecond})
	var send, want strings.Builder
	for i := range 3000 {
		switch {
		case i%3 == 1:
			send.WriteString(cmd("BAD"))
			want.WriteString("-ERR bad\r\n")
		case i%500 == 0:
			send.WriteString(cmd("SLOW"))
			want.WriteString("+SLOW\r\n")
		default:
			send.WriteString(cmd("ECHO", strconv.Itoa(i)))
			want.Write(resp.AppendBulk(nil, strconv.Itoa(i)))
		}
	}
	got, err := talk(t, p, send.String())
	if got != want.String() || err != nil {
		t.Errorf("the replies are not in order, %v", err)
	}
	if strings.Contains(s.commands(), "BAD") || slow.Hits() == 0 {
		t.Errorf("the server saw a command that was answered before it, or %d slow ones", slow.Hits())
	}
}

func TestResetsComeAfterTheRepliesBefore(t *testing.T) {
	for name, test := range map[string]struct {
		fault fault.Fault
		want  string
		seen  string
	}{
		"before":        {fault.Fault{Command: "X", DropBefore: true}, "+A\r\n+B\r\n", "A B"},
		"after":         {fault.Fault{Command: "X", DropAfter: true}, "+A\r\n+B\r\n", "A B X"},
		"half":          {fault.Fault{Command: "X", Truncate: 2}, "+A\r\n+B\r\n+X", "A B X"},
		"more than all": {fault.Fault{Command: "X", Truncate: 99}, "+A\r\n+B\r\n+X\r\n", "A B X"},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := start(t)
			p.Inject(test.fault)
			conn := dial(t, p)
			io.WriteString(conn, cmd("A")+cmd("B")+cmd("X"))
			got, err := io.ReadAll(conn)
			if string(got) != test.want || err == nil {
				t.Errorf("got %q and %v, want %q and a reset", got, err, test.want)
			}
			if s.commands() != test.seen {
				t.Errorf("the server saw %q, want %q", s.commands(), test.seen)
			}
		})
	}
}

func TestPushesAndMessagesDoNotCountAsReplies(t *testing.T) {
	p, _ := start(t)
	p.Inject(fault.Fault{Command: "BAD", Error: "ERR bad"})
	message2 := "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"
	push := ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"
	// RAW sends more than one reply, as a server does that has news.
	send := cmd("RAW", push+"+1\r\n") + cmd("BAD") + cmd("SUBSCRIBE", "a", "b") + cmd("BAD") +
		cmd("RAW", message2+message2+"+2\r\n") + cmd("BAD") + cmd("ECHO", "end")
	got, err := talk(t, p, send)
	ack := func(ch string, n int) string {
		return fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$1\r\n%s\r\n:%d\r\n", ch, n)
	}
	want := push + "+1\r\n-ERR bad\r\n" + ack("a", 1) + ack("b", 2) + "-ERR bad\r\n" +
		message2 + message2 + "+2\r\n-ERR bad\r\n$3\r\nend\r\n"
	if got != want || err != nil {
		t.Errorf("got\n%q, %v, want\n%q", got, err, want)
	}
}

func TestAnInjectedErrorSpoilsTheTransaction(t *testing.T) {
	p, s := start(t)
	in := p.Inject(fault.Fault{Command: "INCR", Error: "ERR bad", Times: 1})
	got, err := talk(t, p, cmd("MULTI")+cmd("INCR", "a")+cmd("INCR", "b")+cmd("EXEC")+cmd("MULTI")+cmd("INCR", "a")+cmd("EXEC"))
	want := "+OK\r\n-ERR bad\r\n+INCR\r\n-EXECABORT Transaction discarded because of previous errors.\r\n+OK\r\n+INCR\r\n+EXEC\r\n"
	if got != want || err != nil || s.commands() != "MULTI INCR DISCARD MULTI INCR EXEC" {
		t.Errorf("got %q, %v; the server saw %q", got, err, s.commands())
	}
	if in.Hits() != 1 {
		t.Errorf("%d hits", in.Hits())
	}
}

func TestOldViewsFollowTheProtocolOfTheConnection(t *testing.T) {
	p, _ := start(t)
	var v View
	v[2] = map[string][]byte{"SLOTS": []byte("*0\r\n")}
	v[3] = map[string][]byte{"SLOTS": []byte("~0\r\n")}
	p.Freeze(&v)
	got, err := talk(t, p, cmd("CLUSTER", "slots")+cmd("CLUSTER", "MYID"))
	if got != "*0\r\n+CLUSTER\r\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	conn := dial(t, p)
	in := resp.NewReader(conn)
	for _, step := range []struct{ send, want string }{
		{cmd("HELLO", "3"), "%1\r\n+proto\r\n:3\r\n"},
		{cmd("CLUSTER", "SLOTS"), "~0\r\n"},
	} {
		io.WriteString(conn, step.send)
		if got, err := in.AppendReply(nil); string(got) != step.want || err != nil {
			t.Errorf("%q answers %q, %v", step.send, got, err)
		}
	}
	p.Freeze(nil)
	io.WriteString(conn, cmd("CLUSTER", "SLOTS"))
	if got, err := in.AppendReply(nil); string(got) != "+CLUSTER\r\n" || err != nil {
		t.Errorf("thawed, it answers %q, %v", got, err)
	}
}

func TestReplicationIsCopiedAndHeld(t *testing.T) {
	p, s := start(t)
	p.Inject(fault.Fault{Error: "ERR everything"})
	const want = "+REPLCONF\r\n\n\n+FULLRESYNC x 0\r\n$EOF:raw bytes, no reply"
	receive := func(wait time.Duration) (string, error) {
		conn := dial(t, p)
		io.WriteString(conn, cmd("REPLCONF", "listening-port", "7001"))
		if _, err := io.ReadFull(conn, make([]byte, len("+REPLCONF\r\n"))); err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, cmd("PSYNC", "?", "-1"))
		conn.SetReadDeadline(time.Now().Add(wait))
		got := make([]byte, len(want)-len("+REPLCONF\r\n"))
		n, err := io.ReadFull(conn, got)
		return string(got[:n]), err
	}
	if got, err := receive(10 * time.Second); "+REPLCONF\r\n"+got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	p.replicas.Hold("7001", true)
	p.replicas.Hold("7001", true)
	if got, _ := receive(30 * time.Millisecond); got != "" {
		t.Errorf("held, it received %q", got)
	}
	p.replicas.Hold("7001", false)
	if got, err := receive(10 * time.Second); "+REPLCONF\r\n"+got != want || err != nil {
		t.Errorf("let go, it received %q, %v", got, err)
	}
	if got := s.commands(); got != strings.TrimSpace(strings.Repeat("REPLCONF PSYNC ", 3)) {
		t.Errorf("the server saw %q", got)
	}
}

func TestAfterMonitorEverythingPasses(t *testing.T) {
	p, _ := start(t)
	p.Inject(fault.Fault{Command: "PING", Error: "ERR bad"})
	lines := "+1.0 [0 a] \"GET\"\r\n+1.1 [0 a] \"SET\"\r\n"
	got, err := talk(t, p, cmd("MONITOR")+cmd("RAW", lines)+cmd("PING"))
	if want := "+MONITOR\r\n" + lines + "+PING\r\n"; got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStopResetsAndListenBeginsAnew(t *testing.T) {
	p, _ := start(t)
	in := p.Inject(fault.Fault{Command: "X", Error: "ERR stays"})
	open := dial(t, p)
	io.WriteString(open, cmd("PING"))
	if _, err := io.ReadFull(open, make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	delayed := p.Inject(fault.Fault{Command: "SLOW", Delay: time.Hour})
	io.WriteString(open, cmd("SLOW"))
	for deadline := time.Now().Add(10 * time.Second); delayed.Hits() == 0 && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
	p.Stop()
	p.Stop()
	if _, err := open.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the connection ended with %v, not with a reset", err)
	}
	if _, err := net.Dial("tcp", p.addr); err == nil {
		t.Error("it still listens")
	}
	if err := p.Listen(); err != nil {
		t.Fatal(err)
	}
	if got, err := talk(t, p, cmd("X")); got != "-ERR stays\r\n" || err != nil || in.Hits() != 1 {
		t.Errorf("after the restart it says %q, %v", got, err)
	}
	p.ResetClients() // nobody is there
	if got, err := talk(t, p, cmd("PING")); got != "+PING\r\n" || err != nil {
		t.Errorf("after the reset it says %q, %v", got, err)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, way := range []string{"direct", "proxy"} {
		b.Run("way="+way, func(b *testing.B) {
			p, s := start(b)
			addr := p.addr
			if way == "direct" {
				addr = s.Addr().String()
			}
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			in := resp.NewReader(conn)
			send := []byte(cmd("ECHO", strings.Repeat("x", 64)))
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(send); err != nil {
					b.Fatal(err)
				}
				if buf, err = in.AppendReply(buf[:0]); err != nil {
					b.Fatal(err)
				}
			}
			if !bytes.HasPrefix(buf, []byte("$64")) {
				b.Fatalf("got %q", buf)
			}
		})
	}
}
