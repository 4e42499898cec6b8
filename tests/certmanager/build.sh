#!/bin/sh
# Builds cert-manager's controllers of the version in go.mod, and puts its CRDs
# beside them.
# usage: tests/certmanager/build.sh FOLDER
#
# The first build took 11 minutes on 2 busy cores (5 minutes of CPU time); later
# ones take seconds.
set -eu

. "$(dirname "$0")/../../deploy/tools/go.sh"

[ $# -eq 1 ] || die "name the folder, as in: tests/certmanager/build.sh build/ci/certmanager"
prepare_go "cert-manager" "$1"
cd "$(dirname "$0")"

mkdir -p "$out"
module=$(module_folder github.com/cert-manager/cert-manager)
for kind in certificaterequests certificates clusterissuers issuers; do
	cat "$module/deploy/crds/cert-manager.io_$kind.yaml"
done >"$out/crds.yaml.new"
mv "$out/crds.yaml.new" "$out/crds.yaml"
# Renamed into place, so that a running program keeps the file it started from.
go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false \
	-ldflags "-s -w" -o "$out/certmanager.new" .
mv "$out/certmanager.new" "$out/certmanager"
