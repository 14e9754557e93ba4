package redisinfo

import "time"

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

// ParseClientList reads CLIENT LIST. Lines it cannot read are passed over.
func ParseClientList(reply string) []Client { panic("to be written") }
