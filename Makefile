# Everything that is checked, built and measured. CONTRIBUTING.md explains the targets.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory

# Version control stamps are for released binaries; elsewhere they would only make
# the checks depend on who owns the clone.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

TOOL      := go tool -modfile=tools/go.mod
INPUTS    ?= 10000
SOAK      ?= 20
TESTFLAGS ?=
# The race detector leaves out SQLite itself, which is C made into Go. What it allocates is
# not on Go's heap, where alone the detector finds races, so to watch it costs three quarters
# of a test's processor time for its static variables, which SQLite guards itself. checkptr
# leaves out all of modernc.org, where pointers are numbers.
RACE      := -race '-gcflags=modernc.org/...=-d=checkptr=0' '-gcflags=modernc.org/sqlite/lib=-race=false -d=checkptr=0'
PLATFORMS := linux/amd64 darwin/arm64 windows/amd64
MAX_BYTES := 36000000
NODE      := e2e/node/node_modules/.package-lock.json

.PHONY: check test torture lint vet fuzz soak bench build cross demo fmt needs

# What waits for nothing runs two by two, since each has times with one busy processor.
# The tests have the machine for themselves, and come last, so that what stands at the
# end is their summary.
check: needs
	$(MAKE) -j 2 --output-sync=target lint vet cross fuzz
	$(MAKE) torture
	$(MAKE) test

# What the tests need of the machine: a PostgreSQL server, a C compiler for the
# race detector, curl, a browser, Prometheus, and the npm packages of e2e/node.
needs: $(NODE)
	./tools/needs.sh

$(NODE): e2e/node/package.json e2e/node/package-lock.json e2e/node/.npmrc
	cd e2e/node && npm ci
	touch $@

# vet is off here, since the target vet runs all of it.
test: needs
	$(TOOL) gotestsum --format pkgname -- $(RACE) -vet=off -shuffle=on -timeout 20m $(TESTFLAGS) ./...

# The races and kills of the store at their full size; under the race detector,
# in test, they have an eighth of it.
torture: needs
	go test -count=1 -run 'OneWinner|StartAtOnce|AreKilled' ./internal/store

lint:
	$(TOOL) golangci-lint config verify
	$(TOOL) golangci-lint fmt --diff
	$(TOOL) golangci-lint run
	go mod tidy -diff
	cd tools && go mod tidy -diff

# deadcode exits with 0 whatever it finds. The public kit is not called by the
# program, so it is left out. What else no command reaches stands in
# tools/deadcode.txt with its reason; a line too many there fails too.
vet:
	go vet ./...
	diff -u <(grep -v '^#' tools/deadcode.txt) \
	  <($(TOOL) deadcode -f '{{range .Funcs}}{{println $$.Path .Name}}{{end}}' \
	    -filter '^github.com/countersign-dev/countersign/(cmd|internal)' ./cmd/... | sed '/^$$/d; s|^github.com/countersign-dev/countersign/||' | LC_ALL=C sort) \
	  || { echo "deadcode: remove what no command reaches (+), and what tools/deadcode.txt lists in vain (-)"; exit 1; }

fuzz:
	./tools/fuzz.sh $(INPUTS)

# Longer torture: kill -9, races, models and fuzzing at SOAK times their size.
soak: needs
	COUNTERSIGN_SOAK=$(SOAK) $(TOOL) gotestsum --format standard-verbose -- -count=1 -shuffle=on -timeout 6h $(TESTFLAGS) ./...
	./tools/fuzz.sh $$(( $(SOAK) * $(INPUTS) ))

bench:
	./tools/bench-needs.sh bin/bench
	go run ./bench -out bench/RESULTS.md

build:
	CGO_ENABLED=0 go build -buildvcs=auto -trimpath -ldflags '-s -w' -o bin/countersign ./cmd/countersign

cross:
	./tools/cross.sh $(MAX_BYTES) $(PLATFORMS)

demo:
	go run ./cmd/countersign demo

fmt:
	$(TOOL) golangci-lint fmt
