// Package sysctl reads what decides about a Redis or Valkey client and server
// on this host: kernel settings, limits, sockets, cgroups and namespaces.
//
// Two things make such values easy to read wrongly. Most network settings
// belong to a network namespace, and a new namespace does not inherit them
// from the host; and limits belong to a process, so the reader's own say
// nothing about the server's (the Go runtime even raises its own). Everything
// here is therefore read for one process: its limits, its cgroup with all
// ancestors, the settings and sockets of its network namespace.
//
// The smallest program:
//
//	r := sysctl.Live()
//	p := r.Process(812)
//	fmt.Println(p.Limit("Max open files"), p.Net.Settings.Get("net.core.somaxconn"))
//
// What cannot be read carries the reason instead of a value; nothing here
// returns a default in its place. A Reader takes any file tree ([New]), such
// as a recorded one or a host's root mounted into a container. On systems
// without /proc everything is unreadable, with that reason.
//
// Left out: changing settings. See rcctl doctor for what to change and why.
package sysctl
