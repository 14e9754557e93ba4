# make help lists the targets: one line each.
.DEFAULT_GOAL := help
export GOWORK := off
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
MODULES = $(shell git ls-files 'go.mod' '*/go.mod' | grep -v /testdata/ | xargs -n1 dirname)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

.PHONY: help test race check generate fuzz faults starts release

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## run the tests; those with real servers run when redis-server is on PATH
	go test ./...

race: ## run the tests with the race detector
	go test -race -short ./...

check: ## gofmt, vet, staticcheck and tests of every module
	@test -z "$$(git ls-files '*.go' | grep -v /testdata/ | xargs gofmt -l)" || { echo "gofmt -l is not empty"; exit 1; }
	@for m in $(MODULES); do (cd $$m && go vet ./... && go run $(STATICCHECK) ./... && go test ./...) || exit 1; done

generate: ## write the generated tables and documents anew
	go generate ./...

fuzz: ## run every fuzz target for 20 s
	@for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do go test -run '^$$' -fuzz "^$$f$$" -fuzztime 20s $$p || exit 1; done; done

faults: ## kill, pause and black-hole masters ten times each, beside plain go-redis (needs redis-server)
	RCCTL_REQUIRE_REDIS=1 RCCTL_FAULT_TRIALS=10 RCCTL_FAULT_PLAIN=1 go test -v -count=1 -run Faults -timeout 60m ./pool

starts: ## start 50 clusters of real servers in a row (needs redis-server)
	RCCTL_REQUIRE_REDIS=1 RCCTL_STARTS=50 go test -v -count=1 -run ManyStarts ./clustertest

release: ## build static binaries for linux and darwin, amd64 and arm64, into dist/
	@for os in linux darwin; do for arch in amd64 arm64; do \
	  CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -buildvcs=true -ldflags '-s -w -X main.version=$(VERSION)' \
	    -o dist/rcctl-$$os-$$arch ./cmd/rcctl || exit 1; done; done
	@cd dist && sha256sum rcctl-* > SHA256SUMS && cat SHA256SUMS
