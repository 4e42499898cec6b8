"""An aggregator with TLS. deploy/certs.sh makes the certificates, as for an
operator."""
import ssl
import subprocess

from harness import PATIENCE_S, ROOT, Aggregator, http_get


def certs(command, folder, *names):
    subprocess.run(["sh", ROOT / "deploy/certs.sh", command, folder, *names],
                   check=True, capture_output=True, timeout=PATIENCE_S)


def expiry_of(certificate):
    """When a certificate file expires, in Unix time."""
    end = subprocess.run(
        ["openssl", "x509", "-noout", "-enddate", "-in", certificate],
        check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout
    return ssl.cert_time_to_seconds(end.strip().partition("=")[2])


def client_flags(keys, who="agent", trusts=None):
    """The --tls flags of a client with the certificates in the folder keys.
    trusts: a folder whose authority the client trusts instead."""
    return ["--tls-ca", (trusts or keys) / "servers-ca.crt",
            "--tls-cert", keys / f"{who}.crt",
            "--tls-key", keys / f"{who}.key"]


class SecureAggregator(Aggregator):
    origin = "tls+tcp://localhost"
    trust = None  # an ssl.SSLContext if --http is HTTPS

    def __init__(self, folder, keys, who="aggregator", *more):
        super().__init__(folder, "aggregator",
                         "--tls-ca", keys / "clients-ca.crt",
                         "--tls-cert", keys / f"{who}.crt",
                         "--tls-key", keys / f"{who}.key", *more)

    def get(self, path, accept=None):
        if self.trust is None:
            return super().get(path, accept)
        return http_get(f"https://localhost:{self.ports[1]}{path}", accept,
                        self.trust)
