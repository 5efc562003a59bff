.DEFAULT_GOAL := help
SDK_FIXTURES := github.com/modelcontextprotocol/go-sdk/conformance/everything-server
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  \1\t\2/' | expand -t 14

.PHONY: build
build: ## build the binary of a release into ./toolfold
	CGO_ENABLED=0 go build -trimpath -tags urfave_cli_no_docs -ldflags="-s -w" ./cmd/toolfold

.PHONY: run
run: ## serve on HTTP at 127.0.0.1:8137
	go run ./cmd/toolfold serve --http 127.0.0.1:8137

.PHONY: test
test: ## run the tests; nothing but Go is needed
	go test ./...

.PHONY: check
check: ## format, vet, staticcheck, and all tests with the race detector
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./... && go vet -C e2e ./...
	go run $(STATICCHECK) ./... && go run -C e2e $(STATICCHECK) ./...
	go test -race ./... && go test -C e2e -race ./...

.PHONY: generate
generate: ## write the golden files and the generated docs; read the difference
	go test $$(grep -rlE 'toolfold/(internal/test/golden|toolfoldtest)"' --include='*_test.go' . | xargs -n1 dirname | sort -u) -update
	UPDATE_SCRIPTS=1 go test ./internal/cli -run Scripts

.PHONY: bench
bench: ## compare a server with plain ones and write docs/performance.md
	go run -C e2e ./bench -write ../docs/performance.md

.PHONY: benchmarks
benchmarks: ## run the benchmarks of the packages
	go test -run '^$$' -bench . ./...

LISTS ?= gateway/testdata
.PHONY: gateway
gateway: ## print what lists of tools cost, as they are and folded; LISTS names a folder of others
	go run -C e2e ./folds $(abspath $(LISTS))

.PHONY: planted
planted: ## scan planted faults with toolfold, go vet, staticcheck, eslint and tsc, and write the table of docs/code-measured.md
	go run -C e2e ./planted -write ../docs/code-measured.md

HOSTS ?=
.PHONY: hosts
hosts: build ## run coding agents on every list and write what they took; HOSTS names some of them
	cd e2e/agents && npm install --no-package-lock --no-audit --no-fund
	cd e2e/agents && TOOLFOLD_BIN=../../toolfold node capture.js ../../internal/cli/docs/captures.json $(HOSTS)
	go test ./internal/cli/docs -update

.PHONY: snapshot
snapshot: ## make a release that is published nowhere into ./dist, and try its archives, npm packages and cask
	.ci/snapshot

.PHONY: nightly
nightly: ## what takes too long for every change: full attacks, loads, fuzzing, all targets
	.ci/nightly

.PHONY: conformance
conformance: build ## run the official conformance suite of MCP against a server of its fixtures, and by way of the gateway
	go build -C e2e -o conformance/fixtures ./conformance
	go build -C e2e -o conformance/sdk-fixtures $(SDK_FIXTURES)
	cd e2e/conformance && npm ci --no-audit --no-fund && TOOLFOLD_BIN=$(CURDIR)/toolfold npm test

.PHONY: e2e
e2e: build ## drive the binary with the official clients from npm
	TOOLFOLD_TYPED_ANSWERS=$(CURDIR)/e2e/answers.jsonl go test -count 1 ./internal/test/everyaction -run RandomAnswers
	cd e2e && npm ci --no-audit --no-fund && TOOLFOLD_BIN=../toolfold TOOLFOLD_TYPED_ANSWERS=answers.jsonl npm test
	cd e2e/designs && npm ci --no-audit --no-fund && TOOLFOLD_BIN=../../toolfold npm test

.PHONY: page
page: build ## try the page in Chromium
	cd e2e/page && npm ci --no-audit --no-fund && TOOLFOLD_BIN=../../toolfold npm test
