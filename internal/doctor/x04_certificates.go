package doctor

import "strings"

var _ = register(Check{
	ID: "X04", Title: "every certificate covers the address that its node announces", Severity: Fail,
	Why:    "a client that checks names refuses a node that announces an address its certificate does not name",
	Fix:    "announce a host name that the certificate names (cluster-announce-hostname, cluster-preferred-endpoint-type hostname), or set ServerName; do not switch verification off",
	Verify: "openssl s_client -connect HOST:PORT | openssl x509 -noout -ext subjectAltName",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		if !s.Cluster.TLS {
			return []Finding{skip("path", "TLS", "the connection does not use TLS (--tls)")}
		}
		var out, good []Finding
		for _, n := range s.Cluster.each() {
			f := Finding{Outcome: OK, Scope: "path", Subject: n.Addr, Current: "covered", Required: "a name or address in the certificate"}
			switch {
			case n.Reach.Kind == kindTLS:
				f.Outcome, f.Current = Fail, n.Reach.Reason
			case n.Cert == nil:
				f = skip("path", n.Addr, "no certificate was seen")
			case !n.Cert.Covers:
				// The connection worked: a server name was given.
				f.Outcome, f.Current = Info, "not covered, works with the server name given; the certificate names "+strings.Join(n.Cert.Names, ", ")
			}
			if f.Outcome == OK {
				good = append(good, f)
			} else {
				out = append(out, f)
			}
		}
		return append(merge(out), summed(good)...)
	},
})
