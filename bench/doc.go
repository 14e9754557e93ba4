// Package bench measures what a cluster client does on a cluster: latency as
// callers on a schedule see it, redirects proven against the servers' own
// counters, and what limited the result.
//
// Load generators mislead in three ways. They wait for a reply before they
// send the next request, so a node that stalls for two seconds costs them one
// slow request per connection where real callers would have sent thousands.
// They count a MOVED reply as a success or hide it in a histogram. And they
// report the ceiling of their own machine as that of the server. This package
//
//   - sends request i at start + i/rate, whatever became of the requests
//     before it, and keeps two histograms: service (from send to reply) and
//     intended (from the moment the request was due to its reply);
//   - counts MOVED and ASK replies in node-level hooks of the client and
//     compares them with the errorstats of every node ("closed books"); when
//     they differ the result says why;
//   - watches itself (lateness, queue, CPU) and names what limited the run.
//
// The smallest program:
//
//	res, err := bench.Run(ctx, bench.Options{
//		Cluster:  pool.Config{Addrs: []string{"127.0.0.1:7000"}},
//		Rate:     2000,
//		Duration: 10 * time.Second,
//	})
//	if err != nil {
//		return err // the cluster could not be reached, or an option is wrong
//	}
//	res.WriteText(os.Stdout)
//
// A run writes only keys with its own prefix and seed, gives each of them a
// TTL, and deletes them at its end. It never sends FLUSHALL or FLUSHDB.
//
// Latency histograms hold requests that succeeded (a missing key is a
// success). Failed requests have a histogram of their own and are counted by
// kind, so that a fast refusal does not make a percentile look better.
//
// Left out: transactions, scripts and blocking commands.
package bench
