package health_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rcctl/rcctl/clustertest"
	"github.com/rcctl/rcctl/health"
)

func Example() {
	cluster, err := clustertest.Start(context.Background(), clustertest.Options{Replicas: 1})
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	rdb := cluster.Client()

	// At start: can the cluster serve?
	fmt.Println("quick check:", health.QuickCheck(context.Background(), rdb))

	// In a service: three handlers.
	checker, err := health.New(health.Config{Client: rdb})
	if err != nil {
		panic(err)
	}
	defer checker.Close()
	mux := http.NewServeMux()
	mux.Handle("/livez", health.Livez())
	mux.Handle("/readyz", checker.Readyz())
	mux.Handle("/reportz", checker.Reportz())
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	fmt.Print("readyz: ", w.Code, " ", w.Body)

	// In code: the verdict, and why.
	report, err := checker.Report(context.Background())
	if err != nil {
		panic(err)
	}
	for _, reason := range report.Reasons {
		fmt.Println(reason.Code, reason.Node, health.FormatRanges(reason.Slots))
	}
	fmt.Println(report.Verdict, report.Slots.Served)
	// Output:
	// quick check: <nil>
	// readyz: 200 ok
	// ok 16384
}
