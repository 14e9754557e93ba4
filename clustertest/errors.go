package clustertest

import "errors"

// ErrNotSupported matches errors of operations that a backend cannot do. The
// error names the backend and the operation. Choose another backend, or look
// at [Caps] first.
var ErrNotSupported = errors.New("not supported by this backend")

// ErrNoServer matches errors of [Processes] when neither redis-server nor
// valkey-server is found. Install one, or use [Embedded].
var ErrNoServer = errors.New("no redis-server or valkey-server found")
