#!/bin/sh
# Builds kubecluster, the real Kubernetes control plane that the tests run
# against, or another program of this module. With go-1.30.mod: Kubernetes 1.30.
# usage: tests/cluster/build.sh OUTPUT [PACKAGE [MODFILE]]
#
# The first build compiles all of Kubernetes (less than 4 minutes on 2 cores),
# later ones take seconds.
set -eu

die() {
	echo "build.sh: $*" >&2
	exit 1
}

[ $# -ge 1 ] && [ $# -le 3 ] || die "name the file to build, as in: tests/cluster/build.sh build/kubecluster"
package=${2:-.}
modfile=${3:-go.mod}
case $1 in
/*) out=$1 ;;
*) out=$PWD/$1 ;;
esac

# With GOTOOLCHAIN=local an older go reports its version instead of fetching
# the version that go.mod asks for.
export GOTOOLCHAIN=local
version=$(go env GOVERSION 2>/dev/null || true)
case $version in
go1.2[6-9]* | go1.[3-9][0-9]* | go[2-9]*) ;;
*) die "building $(basename "$out") needs go 1.26 or newer on the PATH, found ${version:-none}" ;;
esac

cd "$(dirname "$0")"
export GOFLAGS="-mod=readonly -modfile=$modfile"
# A static binary runs on any machine; -trimpath lets checkouts share a cache.
export CGO_ENABLED=0
# A compiler ends before its garbage is worth collecting: without this and
# without debug information the first build takes half as long again.
export GOGC=off GOMEMLIMIT=2GiB

# Without these the server reports a version that kubectl cannot parse.
release=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${release#v1.}
minor=${minor%%.*}
for stamped in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	stamp="${stamp-} -X $stamped.gitVersion=$release -X $stamped.gitMajor=1"
	stamp="$stamp -X $stamped.gitMinor=$minor -X $stamped.gitCommit=unknown"
done

mkdir -p "$(dirname "$out")"
# Renamed into place, so that a running cluster keeps the file it started from.
go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false \
	-ldflags "-s -w $stamp" -o "$out.new" "$package"
mv "$out.new" "$out"
