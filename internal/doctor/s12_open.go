package doctor

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/rcctl/rcctl/internal/redisinfo"
)

var _ = register(Check{
	ID: "S12", Title: "nobody can use the cluster without a password from elsewhere", Severity: Fail,
	Why:    "an open Redis is a remote shell for whoever can reach it: CONFIG SET dir and MODULE LOAD run code",
	Fix:    "a password or ACL users (ACL SETUSER default off), bind to private addresses, protected-mode yes, a firewall",
	Verify: "redis-cli acl getuser default; redis-cli config get protected-mode bind",
	Needs:  NeedsCluster,
	Run: func(s *Snapshot) []Finding {
		return perNode(s.Cluster, func(n *Node) Finding {
			if n.Config == nil {
				return skipped(n.ConfigReason)
			}
			if n.DefaultUserReason != "" {
				return skipped(n.DefaultUserReason)
			}
			open := strings.Contains(n.DefaultUser, "nopass") && !strings.Contains(n.DefaultUser, "off")
			f := ok("default user: "+n.DefaultUser+"; bind "+quoteEmpty(n.Config["bind"])+"; protected-mode "+n.Config["protected-mode"], "a password, or loopback only")
			switch {
			case !open || loopbackOnly(n.Config["bind"]):
				return f
			case n.Config["protected-mode"] == "yes" && (n.Config["bind"] == "" || !bindUnprotects(n.Info)):
				return f // answers its own host only
			case s.Plan.Profile == "dev":
				return f.as(Info, "")
			}
			return f.as(Fail, "")
		})
	},
})

// bindUnprotects: before Redis 7.0 a bind directive switched protected mode
// off; since then it depends on the default user's password alone.
func bindUnprotects(i redisinfo.Info) bool {
	name, version := i.Version()
	major, err := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	return name != "valkey" && (err != nil || major < 7)
}

// loopbackOnly: all addresses of a bind directive are loopback; "-" before an
// address means that it may be missing.
func loopbackOnly(bind string) bool {
	fields := strings.Fields(bind)
	for _, b := range fields {
		a, err := netip.ParseAddr(strings.TrimPrefix(b, "-"))
		if err != nil || !a.IsLoopback() {
			return false
		}
	}
	return len(fields) > 0
}
