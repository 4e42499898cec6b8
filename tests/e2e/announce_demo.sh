#!/bin/sh
# Says at the start of `make demo` what has to be built and how long that takes.
set -eu
cd "$(dirname "$0")/../.."

die() {
	echo "make demo: $*" >&2
	exit 2
}

cluster=${KUBECLUSTER:-build/kubecluster}
if [ -n "${KUBECLUSTER:-}" ]; then
	[ -f "$cluster" ] && [ -x "$cluster" ] ||
		die "KUBECLUSTER is '$cluster', which is no program"
fi
echo "The demo itself takes 2 minutes."
[ -x bin/plimsoll-scheduler ] ||
	echo "First the C programs are built: about 1 minute on 2 CPUs."
if [ -n "${KUBECLUSTER:-}" ]; then
	echo "Nothing is built with Go: KUBECLUSTER is the test control plane."
elif [ ! -x "$cluster" ]; then
	echo "The first run compiles Kubernetes, 2,700 Go packages: 4 to 8" \
		"minutes on 2 CPUs, and the time to fetch 100 MB of modules." \
		"KUBECLUSTER=FILE uses a control plane that was built elsewhere."
fi
