package doctor

import (
	"io"
	"slices"
	"strings"
)

// setting is a kernel setting to write, and the check that asks for it.
type setting struct{ key, value, check string }

// FixPlan is what would mend the findings of a snapshot that are settings of
// kernels and limits. It never touches the cluster, SELinux, swap or the boot
// loader.
type FixPlan struct {
	host       []setting            // for /etc/sysctl.d on this host
	namespaces map[string][]setting // for network namespaces of their own, by subject
	units      map[string]int64     // LimitNOFILE by systemd unit
	containers map[string]int64     // nofile by server that has no unit
	inside     bool                 // rcctl itself runs in a container
}

// PlanFixes collects the fixes for what fails and warns. It is a pure
// function.
func PlanFixes(s *Snapshot) (FixPlan, error) {
	p := FixPlan{namespaces: map[string][]setting{}, units: map[string]int64{}, containers: map[string]int64{}, inside: s.Host.Container != ""}
	r, err := Judge(s, Selection{})
	if err != nil {
		return p, err
	}
	bad := func(id, subject string) bool {
		return slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.ID == id && (f.Outcome == Warn || f.Outcome == Fail) && (subject == "" || strings.Contains(f.Subject, subject))
		})
	}
	if bad("H01", "") {
		p.host = append(p.host, setting{"vm.overcommit_memory", "1", "H01"})
	}
	for _, t := range append(s.serverNets(), s.appNet()) {
		p.planNet(s, t, bad)
	}
	for _, v := range s.servers() {
		if !bad("L01", v.name()) && !bad("L02", v.Addr) {
			continue
		}
		want := int64(briefFiles)
		if n := s.node(v); n != nil {
			want = max(want, number(v.Config["maxclients"])+2*reservedFiles, number(n.Config["maxclients"])+2*reservedFiles)
		}
		if v.Unit != "" {
			p.units[v.Unit] = max(p.units[v.Unit], want)
		} else {
			p.containers[v.name()] = want
		}
	}
	return p, nil
}

// planNet adds the settings of one network namespace.
func (p *FixPlan) planNet(s *Snapshot, t netTarget, bad func(id, subject string) bool) {
	var out []setting
	if bad("T01", t.subject) {
		out = append(out, setting{"net.core.somaxconn", "4096", "T01"})
	}
	if bad("T07", t.subject) {
		out = append(out, setting{"net.ipv4.ip_local_port_range", briefRange, "T07"})
	}
	if bad("T10", t.subject) {
		out = append(out, setting{"net.ipv4.tcp_tw_reuse", "1", "T10"})
	}
	if bad("T11", t.subject) {
		out = append(out, setting{"net.ipv4.tcp_timestamps", "1", "T11"})
	}
	if bad("T08", t.subject) || bad("T07", t.subject) {
		if v := t.net.Settings.Get("net.ipv4.ip_local_reserved_ports"); v.Known() {
			reserved, err := parsePorts(v.Text)
			var ports []int
			for _, srv := range t.servers {
				ports = append(ports, s.fixedPorts(srv)...)
			}
			if len(t.servers) == 0 {
				for _, l := range t.net.Listeners {
					ports = append(ports, int(l.Addr.Port()))
				}
			}
			if err == nil && len(ports) > 0 {
				out = append(out, setting{"net.ipv4.ip_local_reserved_ports", reserved.with(ports).String(), "T08"})
			}
		}
	}
	for _, x := range out {
		if !t.net.Own {
			p.namespaces[t.subject] = append(p.namespaces[t.subject], x)
		} else if !slices.ContainsFunc(p.host, func(o setting) bool { return o.key == x.key }) {
			p.host = append(p.host, x)
		}
	}
}

// Empty: there is nothing to mend by settings.
func (p FixPlan) Empty() bool {
	return len(p.host)+len(p.namespaces)+len(p.units)+len(p.containers) == 0
}

// WriteScript writes a shell script that puts the drop-ins in place. What
// belongs to containers stands in it as comments: flags and pod YAML.
func (p FixPlan) WriteScript(w io.Writer) error {
	t := &textWriter{w: w}
	t.line("#!/bin/sh")
	t.line("# Written by rcctl doctor fix. Read it before you run it, as root.")
	t.line("set -eu")
	if p.Empty() {
		t.line("# Nothing to mend by settings.")
		return t.err
	}
	if len(p.host) > 0 {
		if p.inside {
			t.line("# rcctl ran in a container: run this part on the host, or set the net.* lines")
			t.line("# where the container's network namespace is made.")
		}
		t.line("")
		t.line("cat > /etc/sysctl.d/60-rcctl.conf <<'END'")
		for _, x := range p.host {
			t.line("# RC-%s", x.check)
			t.line("%s = %s", x.key, x.value)
		}
		t.line("END")
		t.line("sysctl -p /etc/sysctl.d/60-rcctl.conf")
	}
	for _, unit := range sortedKeys(p.units) {
		t.line("")
		t.line("mkdir -p '/etc/systemd/system/%s.d'", unit)
		t.line("cat > '/etc/systemd/system/%s.d/60-rcctl.conf' <<'END'", unit)
		t.line("# RC-L01")
		t.line("[Service]")
		t.line("LimitNOFILE=%d", p.units[unit])
		t.line("END")
		t.line("systemctl daemon-reload")
		t.line("# The new limit counts after: systemctl restart '%s'", unit)
	}
	for _, name := range sortedKeys(p.containers) {
		t.line("")
		t.line("# %s belongs to no systemd unit. Start it with", name)
		t.line("#   docker run --ulimit nofile=%d:%d ...", p.containers[name], p.containers[name])
	}
	for _, subject := range sortedKeys(p.namespaces) {
		t.line("")
		t.line("# %s:", subject)
		t.line("#   docker run \\")
		for _, x := range p.namespaces[subject] {
			t.line("#     --sysctl '%s=%s' \\", x.key, x.value)
		}
		t.line("# or in the pod (keys that are not safe need --allowed-unsafe-sysctls on the kubelet):")
		t.line("#   securityContext:")
		t.line("#     sysctls:")
		for _, x := range p.namespaces[subject] {
			t.line("#     - name: %s", x.key)
			t.line("#       value: %q", x.value)
		}
	}
	return t.err
}
