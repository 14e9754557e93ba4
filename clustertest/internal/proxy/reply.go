package proxy

import (
	"bytes"
	"errors"
	"io"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// pending is an answer that the client waits for: one of the node, or with
// local, reset or end one of the proxy itself.
type pending struct {
	replies  int    // that the node sends
	acks     bool   // they are confirmations of subscriptions
	drop     bool   // reset the connection in place of the answer
	truncate int    // reset the connection after so many bytes of it
	instead  []byte // sent in place of the answer
	proto    int32  // of the connection, unless the answer is an error
	local    []byte
	reset    bool // ends the connection
	end      bool // ends the connection in order
}

// own reports whether the answer comes from the proxy.
func (p *pending) own() bool { return p.reset || p.end || p.local != nil }

// A queue holds pending answers, oldest first.
type queue struct {
	items []pending
	head  int
}

func (q *queue) empty() bool     { return q.head == len(q.items) }
func (q *queue) front() *pending { return &q.items[q.head] }

func (q *queue) push(p pending) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, p)
}

func (q *queue) pop() {
	q.items[q.head] = pending{}
	q.head++
	if q.empty() {
		q.items, q.head = q.items[:0], 0
	}
}

// replies passes replies on until the node is gone.
func (c *conn) replies() {
	in := resp.NewReader(flushing{c.server, c.flushClient})
	var buf []byte
	for {
		err := in.Wait()
		if err == nil && c.replicating() {
			err = c.replicate(in)
		}
		var raw []byte
		if err == nil {
			raw, err = in.AppendReply(buf[:0])
		}
		if err == nil {
			err = c.reply(raw)
		}
		if err != nil {
			_ = c.flushClient()
			c.close(!errors.Is(err, io.EOF))
			return
		}
		if buf = raw; cap(buf) > maxKept {
			buf = nil
		}
	}
}

func (c *conn) flushClient() error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	return c.toClient.Flush()
}

func (c *conn) writeClient(raw []byte) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_, err := c.toClient.Write(raw)
	return err
}

// replicating reports whether what comes now is no reply any more.
func (c *conn) replicating() bool {
	if !c.raw.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.empty()
}

// replicate copies what a replica receives, except while it is held.
func (c *conn) replicate(in io.Reader) error {
	buf := make([]byte, bufferSize)
	for {
		n, err := in.Read(buf)
		if err != nil {
			return err
		}
		for gate := c.proxy.replicas.gate(c.listeningPort); gate != nil; gate = c.proxy.replicas.gate(c.listeningPort) {
			select {
			case <-gate:
			case <-c.done:
				return errReset
			}
		}
		if err := c.writeClient(buf[:n]); err != nil {
			return err
		}
	}
}

// reply passes one reply or push on, with the fault that the command met.
func (c *conn) reply(raw []byte) error {
	ack, between := c.classify(raw)
	c.mu.Lock()
	if c.queue.empty() {
		c.mu.Unlock()
		return c.writeClient(raw) // "max number of clients reached", MONITOR
	}
	want := *c.queue.front()
	c.mu.Unlock()

	refused := want.acks && raw[0] == '-'
	if between && !(ack && want.acks) {
		return c.writeClient(raw)
	}
	if err := c.passOn(raw, want); err != nil {
		return err
	}
	if want.proto != 0 && raw[0] != '-' {
		c.proto.Store(want.proto)
	}
	return c.answered(refused)
}

// passOn writes what the client gets of a reply.
func (c *conn) passOn(raw []byte, want pending) error {
	switch {
	case want.drop:
		return c.deliver(pending{reset: true}, true)
	case want.truncate > 0:
		if err := c.writeClient(raw[:min(want.truncate, len(raw))]); err != nil {
			return err
		}
		return c.deliver(pending{reset: true}, true)
	case want.instead != nil:
		raw = want.instead
	}
	return c.writeClient(raw)
}

// answered notes that the oldest command got a reply (refused: in place of all
// its replies), and gives the proxy's own answers that waited for it.
func (c *conn) answered(refused bool) error {
	c.mu.Lock()
	front := c.queue.front()
	if front.replies--; front.replies > 0 && !refused {
		c.mu.Unlock()
		return nil
	}
	c.queue.pop()
	for !c.queue.empty() && c.queue.front().own() {
		own := *c.queue.front()
		c.mu.Unlock()
		if err := c.deliver(own, false); err != nil {
			return err
		}
		c.mu.Lock()
		c.queue.pop() // not before it is written: see answer
	}
	c.mu.Unlock()
	return nil
}

// confirmations and messages are the kinds of what pub/sub sends.
var (
	confirmations = [][]byte{
		[]byte("subscribe"), []byte("unsubscribe"), []byte("psubscribe"),
		[]byte("punsubscribe"), []byte("ssubscribe"), []byte("sunsubscribe"),
	}
	messages = [][]byte{[]byte("message"), []byte("pmessage"), []byte("smessage")}
)

// classify says whether a reply is between the replies (a push, or a message
// of RESP2) and whether it confirms a subscription.
func (c *conn) classify(raw []byte) (ack, between bool) {
	if raw[0] != '>' && (raw[0] != '*' || !c.subscribed.Load()) {
		return false, false
	}
	// "*3\r\n$9\r\nsubscribe\r\n..."
	lines := bytes.SplitN(raw, []byte("\r\n"), 4)
	if len(lines) == 4 && len(lines[1]) > 0 && lines[1][0] == '$' {
		for _, kind := range confirmations {
			if bytes.Equal(lines[2], kind) {
				return true, true
			}
		}
		for _, kind := range messages {
			if bytes.Equal(lines[2], kind) {
				return false, true
			}
		}
	}
	return false, raw[0] == '>'
}
