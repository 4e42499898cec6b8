#!/bin/sh
# Builds virt-controller and virt-api, KubeVirt's own, of the version in go.mod,
# and launcher-pods, which calls their code.
# With go-1.7.0.mod: KubeVirt 1.7.0.
# usage: tests/kubevirt/build.sh FOLDER [MODFILE]
#
# The first build takes 3 to 7 minutes on 2 cores, later ones take seconds.
set -eu

. "$(dirname "$0")/../../deploy/tools/go.sh"

[ $# -ge 1 ] && [ $# -le 2 ] || die "name the folder, as in: tests/kubevirt/build.sh build/ci/kubevirt"
modfile=${2:-go.mod}
tags=
[ "$modfile" = go.mod ] || tags=kubevirt_1_7

prepare_go KubeVirt "$1"
cd "$(dirname "$0")"
export GOFLAGS="-mod=readonly -modfile=$modfile"

# One build at a time: .ci/run starts it beside the stages before its own.
mkdir -p "$out.new"
exec 9>"$out.lock"
flock 9
go build -trimpath -buildvcs=false -tags="$tags" -gcflags=all=-dwarf=false \
	-ldflags "-s -w" -o "$out.new/" ./virt-controller ./virt-api \
	./launcher-pods
mkdir -p "$out"
# Renamed into place, so that a running program keeps the file it started from.
mv "$out.new"/* "$out/"
