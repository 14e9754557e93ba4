// Package redisinfo reads what Redis and Valkey servers say about themselves:
// INFO, CLIENT LIST, CLUSTER SLOTS, SHARDS, NODES and INFO. Its parsers are
// tolerant: unknown fields, sections and flags are kept or passed over, never
// an error, since servers add some with every release.
package redisinfo
