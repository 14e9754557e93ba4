package doctor

import "time"

var _ = register(Check{
	ID: "S14", Title: "TLS covers the bus and replication, and no certificate ends soon", Severity: Fail,
	Why:    "an expired certificate is an outage of every new connection; without tls-cluster and tls-replication data cross the network in the clear",
	Fix:    "renew the certificate (CONFIG SET tls-cert-file loads it without a restart); tls-cluster yes, tls-replication yes",
	Verify: "openssl s_client -connect HOST:PORT | openssl x509 -noout -enddate",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		if !s.Cluster.TLS {
			return []Finding{skip("cluster", "TLS", "the connection does not use TLS (--tls)")}
		}
		return perNode(s.Cluster, func(n *Node) Finding {
			if n.Cert == nil {
				return skipped("no certificate was seen")
			}
			left := n.Cert.NotAfter.Sub(s.Time)
			f := ok("valid for more than 30 days", "more than 30 days, tls-cluster and tls-replication yes")
			if left < 30*24*time.Hour {
				f.Current = "ends " + n.Cert.NotAfter.UTC().Format("2006-01-02")
				if left <= 0 {
					return f.as(Fail, "")
				}
				return f.as(Warn, "")
			}
			if n.Config["tls-cluster"] == "no" || n.Config["tls-replication"] == "no" {
				f.Current = "tls-cluster " + n.Config["tls-cluster"] + ", tls-replication " + n.Config["tls-replication"]
				return f.as(Warn, "")
			}
			return f
		})
	},
})
