// Package pool makes cluster clients whose worst case is known.
package pool
