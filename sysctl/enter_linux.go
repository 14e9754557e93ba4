package sysctl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// inNetNS runs f on a thread inside the network namespace of a process.
func inNetNS(root string, pid int, f func()) error {
	errc := make(chan error, 1)
	go func() {
		// The thread is given back only when it is back in its own namespace;
		// otherwise it ends with this goroutine.
		runtime.LockOSThread()
		own, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			errc <- err
			return
		}
		defer own.Close()
		target, err := os.Open(filepath.Join(root, "proc", strconv.Itoa(pid), "ns/net"))
		if err != nil {
			runtime.UnlockOSThread()
			errc <- err
			return
		}
		defer target.Close()
		if err := unix.Setns(int(target.Fd()), unix.CLONE_NEWNET); err != nil {
			runtime.UnlockOSThread()
			if errors.Is(err, unix.EPERM) {
				err = errors.New("needs CAP_SYS_ADMIN")
			}
			errc <- err
			return
		}
		f()
		if unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		errc <- nil
	}()
	return <-errc
}

const (
	sockDiagByFamily = 20
	diagMsgLen       = 72
	stateEstablished = 1
	stateListen      = 10
	timerKeepalive   = 2
)

// inetDiag lists listening and established TCP sockets of the thread's
// network namespace.
func inetDiag() ([]socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, fmt.Errorf("inet_diag: %w", err)
	}
	defer unix.Close(fd)
	tv := unix.NsecToTimeval(int64(time.Second))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return nil, fmt.Errorf("inet_diag: %w", err)
	}
	var out []socket
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		s, err := inetDiagFamily(fd, family)
		if err != nil {
			return nil, fmt.Errorf("inet_diag: %w", err)
		}
		out = append(out, s...)
	}
	return out, nil
}

func inetDiagFamily(fd int, family byte) ([]socket, error) {
	req := make([]byte, unix.NLMSG_HDRLEN+56)
	binary.NativeEndian.PutUint32(req[0:], uint32(len(req)))
	binary.NativeEndian.PutUint16(req[4:], sockDiagByFamily)
	binary.NativeEndian.PutUint16(req[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := req[unix.NLMSG_HDRLEN:]
	body[0], body[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], 1<<stateEstablished|1<<stateListen)
	if err := unix.Sendto(fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var out []socket
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		socks, done, err := parseDiag(buf[:n])
		out = append(out, socks...)
		if done || err != nil {
			return out, err
		}
	}
}

// parseDiag reads one datagram of netlink messages.
func parseDiag(b []byte) (out []socket, done bool, err error) {
	for len(b) >= unix.NLMSG_HDRLEN {
		length := int(binary.NativeEndian.Uint32(b))
		if length < unix.NLMSG_HDRLEN || length > len(b) {
			return out, true, errors.New("broken netlink message")
		}
		body := b[unix.NLMSG_HDRLEN:length]
		switch binary.NativeEndian.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return out, true, nil
		case unix.NLMSG_ERROR:
			if len(body) >= 4 {
				if e := int32(binary.NativeEndian.Uint32(body)); e != 0 {
					return out, true, unix.Errno(-e)
				}
			}
		case sockDiagByFamily:
			if len(body) >= diagMsgLen {
				out = append(out, parseDiagMsg(body))
			}
		}
		b = b[min((length+3)&^3, len(b)):]
	}
	return out, false, nil
}

func parseDiagMsg(m []byte) socket {
	addr := func(port, ip []byte) netip.AddrPort {
		var a netip.Addr
		if m[0] == unix.AF_INET {
			a = netip.AddrFrom4([4]byte(ip[:4]))
		} else {
			a = netip.AddrFrom16([16]byte(ip[:16])).Unmap()
		}
		return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port))
	}
	return socket{
		local:     addr(m[4:6], m[8:24]),
		remote:    addr(m[6:8], m[24:40]),
		listening: m[1] == stateListen,
		keepalive: m[2] == timerKeepalive,
		expiresMS: binary.NativeEndian.Uint32(m[52:]),
		rqueue:    binary.NativeEndian.Uint32(m[56:]),
		wqueue:    binary.NativeEndian.Uint32(m[60:]),
	}
}
