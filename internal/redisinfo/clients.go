package redisinfo

import (
	"strconv"
	"strings"
	"time"
)

// Client is one line of CLIENT LIST.
type Client struct {
	ID              int64
	Addr, LocalAddr string
	Name            string
	Age, Idle       time.Duration
	Flags           string // "N" none, "r" READONLY, "S" replica, "P" pub/sub, "O" monitor ...
	DB              int
	Cmd, User       string
	LibName, LibVer string
	Resp            int
	QueryBuf        int64 // bytes
	OutputMem       int64 // bytes
	TotalMem        int64 // bytes
	// Fields holds every field of the line by its name.
	Fields map[string]string
}

// ParseClientList reads CLIENT LIST. Lines it cannot read (without an id) are
// passed over, so that a reply cut off in the middle gives the clients before
// the cut. Names cannot hold spaces: the server refuses them.
func ParseClientList(reply string) []Client {
	var out []Client
	for line := range strings.Lines(reply) {
		f := map[string]string{}
		for part := range strings.FieldsSeq(line) {
			if k, v, ok := strings.Cut(part, "="); ok {
				f[k] = v
			}
		}
		id, err := strconv.ParseInt(f["id"], 10, 64)
		if err != nil {
			continue
		}
		out = append(out, Client{
			ID:        id,
			Addr:      f["addr"],
			LocalAddr: f["laddr"],
			Name:      f["name"],
			Age:       seconds(intOf(f["age"])),
			Idle:      seconds(intOf(f["idle"])),
			Flags:     f["flags"],
			DB:        int(intOf(f["db"])),
			Cmd:       f["cmd"],
			User:      f["user"],
			LibName:   f["lib-name"],
			LibVer:    f["lib-ver"],
			Resp:      int(intOf(f["resp"])),
			QueryBuf:  intOf(f["qbuf"]),
			OutputMem: intOf(f["omem"]),
			TotalMem:  intOf(f["tot-mem"]),
			Fields:    f,
		})
	}
	return out
}

func intOf(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
