package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the release build (-ldflags -X main.version=...).
var version string

type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	GoRedis string `json:"go_redis"`
}

func newVersionCmd(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of rcctl, Go and go-redis",
		Args:  argsCheck(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if output == "json" {
				return json.NewEncoder(a.stdout).Encode(v)
			}
			_, err := fmt.Fprintf(a.stdout, "rcctl %s (commit %s)\ngo %s\ngo-redis %s\n", v.Version, v.Commit, v.Go, v.GoRedis)
			return err
		},
	}
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// readVersion takes from the build information what the release build did not
// set.
func readVersion() versionInfo {
	v := versionInfo{Version: version, Commit: "unknown", Go: strings.TrimPrefix(runtime.Version(), "go"), GoRedis: "unknown"}
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "" {
		v.Version = bi.Main.Version
	}
	for _, s := range bi.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	for _, d := range bi.Deps {
		if d.Path == "github.com/redis/go-redis/v9" {
			v.GoRedis = d.Version
		}
	}
	return v
}
