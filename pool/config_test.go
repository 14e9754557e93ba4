package pool_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rcctl/rcctl/pool"
)

func TestABadConfigIsOneErrorThatNamesEveryBadField(t *testing.T) {
	_, err := pool.New(t.Context(), pool.Config{
		Name:         "two words",
		Addrs:        []string{"localhost", "h:0"},
		Username:     "app",
		AddrMap:      map[string]string{"10.0.0.1:x": "y:0"},
		PoolSize:     -1,
		MinIdleConns: -7,
		MaxRetries:   99,
		DialTimeout:  -time.Second,
		ReadTimeout:  300, // a number without a unit: 300 ns
		WriteTimeout: time.Hour,
	})
	if !errors.Is(err, pool.ErrConfig) {
		t.Fatalf("does not match ErrConfig: %v", err)
	}
	wantInError(t, err, `Name "two words"`, `Addrs "localhost"`, `Addrs "h:0"`, `Username "app"`, `AddrMap key "10.0.0.1:x"`,
		`AddrMap value "y:0"`, "PoolSize -1", "MinIdleConns -7", "MaxRetries 99", "DialTimeout -1s", "ReadTimeout 300ns", "WriteTimeout 1h0m0s")
}

func TestEveryFieldOfABadConfigIsCheckedAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  pool.Config
		want string
	}{
		"no addresses":        {pool.Config{}, "Addrs []"},
		"more idle than size": {pool.Config{Addrs: []string{"h:1"}, PoolSize: 5, MinIdleConns: 6}, "MinIdleConns 6: more than PoolSize 5"},
		"two credentials": {pool.Config{Addrs: []string{"h:1"}, Password: "x",
			Credentials: func(context.Context) (string, string, error) { return "", "", nil }}, "either Credentials or"},
		"negative idle time": {pool.Config{Addrs: []string{"h:1"}, ConnMaxIdleTime: -1}, "ConnMaxIdleTime"},
		"boot timeout":       {pool.Config{Addrs: []string{"h:1"}, BootTimeout: -1}, "BootTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pool.New(t.Context(), tc.cfg)
			if err == nil {
				t.Fatal("accepted")
			}
			wantInError(t, err, tc.want)
		})
	}
}
