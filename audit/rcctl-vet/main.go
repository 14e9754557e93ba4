// Command rcctl-vet is the rules of rcctl audit as a tool for go vet:
//
//	go install github.com/rcctl/rcctl/audit/rcctl-vet@latest
//	go vet -vettool=$(which rcctl-vet) ./...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/rcctl/rcctl/audit"
)

func main() { unitchecker.Main(audit.Analyzers()...) }
