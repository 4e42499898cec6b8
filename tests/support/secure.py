"""An aggregator with certificates, made as an operator makes them."""
import subprocess

from harness import ROOT, Aggregator


def certs(command, folder, *names):
    subprocess.run(["sh", ROOT / "deploy/certs.sh", command, folder, *names],
                   check=True, capture_output=True, timeout=30)


class SecureAggregator(Aggregator):
    origin = "tls+tcp://localhost"

    def __init__(self, folder, keys, who="aggregator", *more):
        super().__init__(folder, "aggregator",
                         "--tls-ca", keys / "clients-ca.crt",
                         "--tls-cert", keys / f"{who}.crt",
                         "--tls-key", keys / f"{who}.key", *more)
