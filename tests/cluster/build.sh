#!/bin/sh
# Builds kubecluster, the real Kubernetes control plane that the tests run
# against, or another program of this module. With go-1.30.mod or go-1.36.mod: of
# that version of Kubernetes.
# usage: tests/cluster/build.sh OUTPUT [PACKAGE [MODFILE]]
#
# The first build compiles all of Kubernetes, 2,700 packages (less than 4 minutes
# on 2 cores); later ones take seconds.
set -eu

. "$(dirname "$0")/../../deploy/tools/go.sh"

[ $# -ge 1 ] && [ $# -le 3 ] || die "name the file to build, as in: tests/cluster/build.sh build/kubecluster"
package=${2:-.}
modfile=${3:-go.mod}
prepare_go "$(basename "$1")" "$1"

cd "$(dirname "$0")"
export GOFLAGS="-mod=readonly -modfile=$modfile"

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
../../deploy/tools/progress.py "$(basename "$out")" \
	go build -v -trimpath -buildvcs=false -gcflags=all=-dwarf=false \
	-ldflags "-s -w $stamp" -o "$out.new" "$package"
mv "$out.new" "$out"
