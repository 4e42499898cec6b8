# Sourced by the scripts that build Go programs.

die() {
	echo "build.sh: $*" >&2
	exit 1
}

# prepare_go WHAT OUTPUT: sets out to the absolute path of OUTPUT, and Go's
# environment. Ends with one sentence if Go is missing or too old.
prepare_go() {
	case $2 in
	/*) out=$2 ;;
	*) out=$PWD/$2 ;;
	esac
	# With GOTOOLCHAIN=local an older go reports its version instead of
	# fetching the version that go.mod asks for.
	export GOTOOLCHAIN=local
	version=$(go env GOVERSION 2>/dev/null || true)
	case $version in
	go1.2[6-9]* | go1.[3-9][0-9]* | go[2-9]*) ;;
	*) die "building $1 needs go 1.26 or newer on the PATH, found ${version:-none}" ;;
	esac
	export GOFLAGS=-mod=readonly
	# A static binary runs on any machine; -trimpath lets checkouts share a
	# cache.
	export CGO_ENABLED=0
	# A compiler ends before its garbage is worth collecting: without this
	# and without debug information the first build takes half as long
	# again.
	export GOGC=off GOMEMLIMIT=2GiB
}

# module_folder NAME: prints the folder of a module that go.mod names. `go list`
# alone prints nothing for a module that was never used on this machine.
module_folder() {
	go mod download "$1" && go list -m -f '{{.Dir}}' "$1"
}
