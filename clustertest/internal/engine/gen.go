//go:build ignore

// gen records what a real server of version 7.0 says about its commands and
// its configuration:
//
//	redis-server --cluster-enabled yes --port 7999 --save "" &
//	go run gen.go -addr 127.0.0.1:7999
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"log"
	"net"
	"os"

	"github.com/rcctl/rcctl/clustertest/internal/resp"
)

// local are settings that depend on where the server ran.
var local = map[string]string{
	"bind": "", "port": "0", "dir": "/", "logfile": "", "pidfile": "", "dbfilename": "dump.rdb",
	"daemonize": "no", "protected-mode": "no", "save": "", "unixsocket": "",
	"bind-source-addr": "",
}

func main() {
	addr := flag.String("addr", "127.0.0.1:7999", "address of a redis-server 7.0 with cluster-enabled yes")
	flag.Parse()
	nc, err := net.Dial("tcp", *addr)
	check(err)
	r := resp.NewReader(nc)
	ask := func(args ...string) []byte {
		_, err := nc.Write(resp.AppendCommand(nil, args...))
		check(err)
		raw, err := r.AppendReply(nil)
		check(err)
		return raw
	}
	ask("HELLO", "3")
	write("recorded/command.resp3.gz", ask("COMMAND"))

	v, _, err := resp.Decode(ask("CONFIG", "GET", "*"))
	check(err)
	var text bytes.Buffer
	for i := 0; i+1 < len(v.Elems); i += 2 {
		name, value := v.Elems[i].Str, v.Elems[i+1].Str
		if l, ok := local[name]; ok {
			value = l
		}
		text.WriteString(name + " " + value + "\n")
	}
	check(os.WriteFile("recorded/config.txt", text.Bytes(), 0o644))
}

func write(name string, data []byte) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	check(err)
	_, err = w.Write(data)
	check(err)
	check(w.Close())
	check(os.WriteFile(name, b.Bytes(), 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
