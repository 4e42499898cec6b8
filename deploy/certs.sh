#!/bin/sh
# Creates plimsoll's certificates with openssl: one authority for servers and
# another for clients, so that no agent's certificate can pass as a server's.
#
# usage: deploy/certs.sh new DIR [NAME ...]   creates everything, valid for a
#                                             year; each NAME is an additional
#                                             DNS name of the servers
#        deploy/certs.sh renew DIR [NAME ...] new certificates and keys from
#                                             the newest authorities
#        deploy/certs.sh rotate DIR           adds new authorities: the new and
#                                             the old ones are both trusted
#        deploy/certs.sh retire DIR           trusts only the newest authorities
#
# DAYS=N sets the lifetime of certificates (default 365). Authorities live ten
# times as long. DIR then holds these files for the flags of the programs:
#   servers-ca.crt   --tls-ca of agents and schedulers
#   clients-ca.crt   --tls-ca of the aggregator
#   aggregator.crt, aggregator.key   --tls-cert, --tls-key of the aggregator,
#                                    also --http-tls-cert, --http-tls-key
#   agent.crt, agent.key             --tls-cert, --tls-key of agents
#   scheduler.crt, scheduler.key     --tls-cert, --tls-key of schedulers
#   scheduler-server.crt, scheduler-server.key   --http-tls-cert, --http-tls-key
#                                    of schedulers that serve as an extender,
#                                    --webhook-tls-cert, --webhook-tls-key
# Keep servers-ca.key and clients-ca.key out of the cluster. docs/security.md
# explains how to replace certificates without an interruption.
set -eu
umask 077

DAYS=${DAYS:-365}
NAMESPACE=plimsoll

die() {
    echo "certs.sh: $*" >&2
    exit 1
}

usage() {
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
}

# new_key FILE: writes a private key
new_key() {
    openssl ecparam -name prime256v1 -genkey -noout -out "$1" 2>/dev/null ||
        die "cannot write '$1'"
}

# new_authority NAME: writes NAME.key and NAME.newest.crt
new_authority() {
    new_key "$dir/$1.key"
    openssl req -x509 -new -sha256 -key "$dir/$1.key" \
        -subj "/O=plimsoll/CN=$1 $(date -u +%Y-%m-%dT%H:%M:%SZ)" \
        -days $((DAYS * 10)) -out "$dir/$1.newest.crt" \
        -addext "basicConstraints=critical,CA:TRUE" \
        -addext "keyUsage=critical,keyCertSign,cRLSign"
}

# sign NAME AUTHORITY USAGE SAN: writes NAME.key and NAME.crt
sign() {
    new_key "$dir/$1.key.new"
    printf '%s\n' "basicConstraints=critical,CA:FALSE" \
        "keyUsage=critical,digitalSignature" "extendedKeyUsage=$3" \
        "subjectAltName=$4" > "$dir/$1.ext"
    openssl req -new -sha256 -key "$dir/$1.key.new" \
        -subj "/O=plimsoll/CN=plimsoll-$1" |
        openssl x509 -req -sha256 -CA "$dir/$2.newest.crt" \
            -CAkey "$dir/$2.key" -set_serial "0x$(openssl rand -hex 16)" \
            -days "$DAYS" -extfile "$dir/$1.ext" -out "$dir/$1.crt.new" \
            2>/dev/null || die "cannot sign the certificate of $1"
    rm -f "$dir/$1.ext"
    mv "$dir/$1.key.new" "$dir/$1.key"
    mv "$dir/$1.crt.new" "$dir/$1.crt"
}

# server_names SERVICE [NAME ...]: prints a subjectAltName
server_names() {
    printf 'DNS:localhost,DNS:%s,DNS:%s' "$1" "$1.$NAMESPACE"
    printf ',DNS:%s' "$1.$NAMESPACE.svc" "$1.$NAMESPACE.svc.cluster.local"
    shift
    for name in "$@"; do
        printf ',DNS:%s' "$name"
    done
}

sign_all() {
    sign aggregator servers-ca serverAuth \
        "$(server_names plimsoll-aggregator "$@")"
    sign scheduler-server servers-ca serverAuth \
        "$(server_names plimsoll-scheduler "$@")"
    sign agent clients-ca clientAuth DNS:plimsoll-agent
    sign scheduler clients-ca clientAuth DNS:plimsoll-scheduler
}

# trust AUTHORITY FILE ...: makes the files AUTHORITY's trusted certificates
trust() {
    authority=$1
    shift
    cat "$@" > "$dir/$authority.crt.new"
    mv "$dir/$authority.crt.new" "$dir/$authority.crt"
}

command -v openssl > /dev/null || die "openssl is not installed"
case ${1:-} in
-h | --help)
    usage
    exit 0
    ;;
esac
[ $# -ge 2 ] || die "a command and a directory are required; see $0 --help"
command=$1 dir=$2
shift 2
case $command in
new)
    [ ! -e "$dir/servers-ca.key" ] ||
        die "'$dir' already has authorities; use renew or rotate"
    mkdir -p "$dir"
    for authority in servers-ca clients-ca; do
        new_authority $authority
        trust $authority "$dir/$authority.newest.crt"
    done
    sign_all "$@"
    ;;
renew)
    [ -e "$dir/servers-ca.key" ] || die "'$dir' has no authorities; use new"
    sign_all "$@"
    ;;
rotate)
    [ -e "$dir/servers-ca.key" ] || die "'$dir' has no authorities; use new"
    # A third authority would replace one that may still be in use.
    [ ! -e "$dir/servers-ca.old.crt" ] ||
        die "'$dir' still has old authorities; use renew, then retire"
    for authority in servers-ca clients-ca; do
        cp "$dir/$authority.newest.crt" "$dir/$authority.old.crt"
        new_authority $authority
        trust $authority "$dir/$authority.newest.crt" "$dir/$authority.old.crt"
    done
    ;;
retire)
    for authority in servers-ca clients-ca; do
        [ -e "$dir/$authority.newest.crt" ] || die "'$dir' has no authorities"
        trust $authority "$dir/$authority.newest.crt"
        rm -f "$dir/$authority.old.crt"
    done
    ;;
*)
    die "unknown command '$command'; use new, renew, rotate or retire"
    ;;
esac
