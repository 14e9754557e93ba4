package doctor

var _ = register(Check{
	ID: "K04", Title: "a server behind a bridge announces what others can reach", Severity: Fail,
	Why:    "a container's own address is reachable on its host only; Redis Cluster does not follow port mappings by itself",
	Fix:    "host networking, or cluster-announce-ip, cluster-announce-port and cluster-announce-bus-port with the published ones",
	Verify: "redis-cli -p PORT cluster nodes",
	Needs:  NeedsServer,
	Run: func(s *Snapshot) []Finding {
		return perServer(s, "netns", func(v *Server) Finding {
			n := s.node(v)
			if n == nil {
				return skipped("the process is not a node of a cluster given with --cluster")
			}
			id := v.Process.Net.ID
			switch {
			case !id.Known():
				return skipped(id.Reason)
			case v.Process.Net.Own:
				return ok("host networking", "an address that peers and clients reach")
			}
			class := addressClass(n.Addr)
			f := ok("announces "+n.Addr+" ("+class+") from its own network namespace", "an address that peers and clients reach")
			if class == "container bridge" || class == "loopback" || !n.Reach.OK {
				return f.as(Fail, "")
			}
			return f
		})
	},
})
