//go:build !linux

package clustertest

import "os/exec"

// A spawner starts processes. Those of systems other than Linux are ended by
// their guard when this process ends without having closed the cluster.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (s *spawner) start(cmd *exec.Cmd) error { return cmd.Start() }

func (s *spawner) close() {}
