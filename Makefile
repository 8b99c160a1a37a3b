# What a contributor runs. Each target calls a script in hack/; `make` alone
# lists them.
.PHONY: help build run test bench chaos fuzz man release clean

help:
	@echo 'make run     build, and run the controller on manifests/ in the foreground'
	@echo 'make test    install what the tests need, then run all checks and tests'
	@echo 'make build   build bin/proc-controller and the example server'
	@echo 'make bench   measure, beside the bare floor and other supervisors; ARGS=-h for more'
	@echo 'make chaos   torment a real controller for a minute; ARGS=-h for more'
	@echo 'make fuzz    fuzz each parser for FUZZTIME (default 10s)'
	@echo 'make man     write the man pages into dist/man'
	@echo 'make release build archives and Debian packages into dist/'
	@echo 'make clean   remove bin/ and what the tests left in the build directory'

build:
	@hack/build

run: build
	@hack/run

test:
	@hack/install-tools
	@hack/check
	@hack/test

bench:
	@go run ./hack/bench $(ARGS)

chaos:
	@go run ./hack/chaos $(ARGS)

fuzz:
	@hack/fuzz

man:
	@hack/man

release:
	@hack/install-tools release
	@go test -tags release ./hack/package
	@hack/release

clean:
	@hack/clean
