// Command rcctl looks at Redis and Valkey clusters from the client's side.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // go-redis prints a line for every failed dial; errors are ours to tell
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := (&app{
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,
	}).run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
