#!/usr/bin/env python3
"""Control planes that all test files of a stage share.

usage: shared_cluster.py COMMAND [ARGUMENT ...]

Runs the command, such as a shell, with one control plane for the test files
that are started from it. run_tests.py uses shared_cluster() directly."""
import contextlib
import os
import subprocess
import sys

from cluster import SHARED, Cluster

# kubecluster ends by itself after this time, should its starter not end it.
TIME_LIMIT = "60m"


@contextlib.contextmanager
def shared_cluster(workers=1):
    """Starts control planes for tests that keep `workers` CPUs busy, side by
    side, and ends them with the context. Yields the environments of the test
    processes that may run at one time. A test class has a control plane to
    itself; as classes mostly wait, there is one more than workers, and as many
    classes use none, there are more processes than control planes.

    If E2E_KUBECONFIG names a cluster, nothing is started and one process may
    run at a time."""
    if os.environ.get("E2E_KUBECONFIG"):
        yield [{}]
        return
    planes, processes = ((1, 1) if workers == 1
                         else (workers + 1, 2 * workers + 1))
    with contextlib.ExitStack() as ending:
        clusters = []
        for _ in range(planes):
            clusters.append(Cluster("--with", "controller-manager,scheduler",
                                    "--time-limit", TIME_LIMIT))
            ending.callback(clusters[-1].close)
        for cluster in clusters:
            cluster.await_ready()
        folders = os.pathsep.join(str(cluster.base) for cluster in clusters)
        yield [{SHARED: folders} for _ in range(processes)]


def main(command):
    with shared_cluster() as (env,):
        return subprocess.call(command, env=os.environ | env)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
