#!/bin/sh
# Builds the descheduler of the version in go.mod, and puts the manifest with
# its rights beside it.
# usage: tests/descheduler/build.sh FOLDER
#
# The first build takes about 4 minutes on 2 cores, later ones take seconds.
set -eu

. "$(dirname "$0")/../../deploy/tools/go.sh"

[ $# -eq 1 ] || die "name the folder, as in: tests/descheduler/build.sh build/ci/descheduler"
prepare_go "the descheduler" "$1"
cd "$(dirname "$0")"

mkdir -p "$out"
cp "$(module_folder sigs.k8s.io/descheduler)/kubernetes/base/rbac.yaml" "$out/rbac.yaml.new"
chmod 644 "$out/rbac.yaml.new"
mv "$out/rbac.yaml.new" "$out/rbac.yaml"
# Renamed into place, so that a running program keeps the file it started from.
go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false \
	-ldflags "-s -w" -o "$out/descheduler.new" .
mv "$out/descheduler.new" "$out/descheduler"
