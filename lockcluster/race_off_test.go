//go:build !race

package lockcluster_test

const raceEnabled = false
