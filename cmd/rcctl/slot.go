package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/rcctl/rcctl/hashtag"
	"github.com/rcctl/rcctl/pool"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
)

type slotOptions struct {
	cluster clusterFlags
	keys    keyFlags
	output  string
}

func newSlotCmd(a *app) *cobra.Command {
	var o slotOptions
	cmd := &cobra.Command{
		Use:   "slot [KEY...]",
		Short: "Print the hash slot, the hash tag and the owner of keys",
		Long: `Print the hash slot and the hash tag of keys, and with --cluster the address
of the master that owns the slot. Without arguments the keys are read from
standard input, one a line.

In JSON a key or tag that is not valid UTF-8 is null, and its bytes are in
key_hex or tag_hex. The tag is null when the whole key is hashed. The owner is
empty when nobody serves the slot.`,
		Example: `  rcctl slot '{user:1000}:profile' user:1000 -o json
  redis-cli --scan | rcctl slot --cluster 127.0.0.1:7000`,
		RunE: func(cmd *cobra.Command, args []string) error { return runSlot(cmd.Context(), a, &o, args) },
	}
	o.cluster.register(cmd)
	o.keys.register(cmd)
	outputFlag(cmd, &o.output, "text", "json")
	return cmd
}

func runSlot(ctx context.Context, a *app, o *slotOptions, args []string) error {
	var owners *slotOwners
	if o.cluster.given(a) {
		c, err := o.cluster.connect(ctx, a)
		if err != nil {
			return err
		}
		defer c.Close()
		if owners, err = readOwners(ctx, c.Client()); err != nil {
			return err
		}
	}
	if o.output == "json" {
		return writeSlotsJSON(a.stdout, owners, o.keys.each(a.stdin, args))
	}
	return writeSlotsText(a.stdout, owners, o.keys.each(a.stdin, args))
}

// A slotLine is one key in JSON. Fields that do not apply are null or absent.
type slotLine struct {
	Key    *string `json:"key"`
	KeyHex string  `json:"key_hex,omitempty"`
	Slot   int     `json:"slot"`
	Tag    *string `json:"tag"`
	TagHex string  `json:"tag_hex,omitempty"`
	Owner  *string `json:"owner,omitempty"`
}

func newSlotLine(key string, owners *slotOwners) slotLine {
	l := slotLine{Slot: hashtag.Slot(key)}
	l.Key, l.KeyHex = jsonText(key)
	if tag, ok := hashtag.Tag(key); ok {
		l.Tag, l.TagHex = jsonText(tag)
	}
	if owners != nil {
		l.Owner = &owners[l.Slot]
	}
	return l
}

// jsonText is s for JSON: as text, or in hexadecimal when it is not text.
// encoding/json would silently replace the bytes that are not UTF-8.
func jsonText(s string) (text *string, inHex string) {
	if utf8.ValidString(s) {
		return &s, ""
	}
	return nil, hex.EncodeToString([]byte(s))
}

func writeSlotsJSON(w io.Writer, owners *slotOwners, keys keySeq) error {
	b := bufio.NewWriter(w)
	sep := "["
	err := keys(func(key string) error {
		j, err := json.Marshal(newSlotLine(key, owners))
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s\n  %s", sep, j)
		sep = ","
		return nil
	})
	if err != nil {
		return err
	}
	if sep == "[" {
		b.WriteByte('[')
	}
	b.WriteString("\n]\n")
	return b.Flush()
}

func writeSlotsText(w io.Writer, owners *slotOwners, keys keySeq) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "SLOT\tTAG\tKEY\n"
	if owners != nil {
		head = "SLOT\tOWNER\tTAG\tKEY\n"
	}
	io.WriteString(tw, head)
	n := 0
	err := keys(func(key string) error {
		slot := hashtag.Slot(key)
		tag, ok := hashtag.Tag(key)
		if tag = printable(tag); !ok {
			tag = "-"
		}
		if owners == nil {
			fmt.Fprintf(tw, "%d\t%s\t%s\n", slot, tag, printable(key))
		} else {
			owner := owners[slot]
			if owner == "" {
				owner = "(nobody)"
			}
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\n", slot, owner, tag, printable(key))
		}
		if n++; n%1000 == 0 { // columns are aligned per thousand keys, not after the last one
			return tw.Flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tw.Flush()
}

// printable is s as it is, or quoted when a terminal would not show it so.
func printable(s string) string {
	if q := strconv.Quote(s); len(q) != len(s)+2 || s == "" {
		return q
	}
	return s
}

// slotOwners is the address of the master of each slot, empty where nobody
// serves it.
type slotOwners [hashtag.Slots]string

func readOwners(ctx context.Context, c *redis.ClusterClient) (*slotOwners, error) {
	//lint:ignore SA1019 CLUSTER SHARDS is not known before Redis 7.0
	ranges, err := c.ClusterSlots(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("read the slot map: %w", err)
	}
	var owners slotOwners
	for _, r := range ranges {
		if r.Start < 0 || r.End >= hashtag.Slots || len(r.Nodes) == 0 {
			continue
		}
		for s := r.Start; s <= r.End; s++ {
			owners[s] = r.Nodes[0].Addr
		}
	}
	return &owners, nil
}

// connect makes a client for one short look at a cluster. A cluster with
// holes is good enough for that.
func (f *clusterFlags) connect(ctx context.Context, a *app) (*pool.Cluster, error) {
	cfg, err := f.config(a)
	if err != nil {
		return nil, err
	}
	cfg.AllowDegraded = true
	cfg.MinIdleConns = -1
	cfg.Logger = slog.New(slog.DiscardHandler) // what is wrong comes back as an error
	return pool.New(ctx, cfg)
}

// keyFlags say how keys are written on standard input and on the command line.
type keyFlags struct {
	null, hex bool
}

func (f *keyFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.null, "null", "0", false, "keys on standard input end with a zero byte, not a newline")
	cmd.Flags().BoolVar(&f.hex, "hex", false, "keys are written in hexadecimal")
}

// A keySeq calls f for each key until f returns an error.
type keySeq func(f func(key string) error) error

// each yields the arguments, or without any the keys on standard input. Only
// the terminator is cut off: any other byte belongs to the key.
func (f *keyFlags) each(stdin io.Reader, args []string) keySeq {
	return func(yield func(string) error) error {
		n := 0
		one := func(key string) error {
			n++
			if f.hex {
				b, err := hex.DecodeString(strings.TrimSpace(key))
				if err != nil {
					return usageError("key %d, %q, is not hexadecimal: %w", n, key, err)
				}
				key = string(b)
			}
			return yield(key)
		}
		for _, arg := range args {
			if err := one(arg); err != nil {
				return err
			}
		}
		if len(args) > 0 {
			return nil
		}
		end := byte('\n')
		if f.null {
			end = 0
		}
		return eachLine(stdin, end, one)
	}
}

func eachLine(r io.Reader, end byte, f func(string) error) error {
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString(end)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read standard input: %w", err)
		}
		eof := err != nil
		if eof && line == "" {
			return nil
		}
		if !eof {
			line = line[:len(line)-1]
		}
		if err := f(line); err != nil || eof {
			return err
		}
	}
}
