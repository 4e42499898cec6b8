#!/bin/sh
# Makes the certificates of plimsoll with openssl: one authority for servers,
# another for clients, so that no agent's certificate can stand as a server.
#
# usage: deploy/certs.sh new DIR [NAME ...]   all of it, for a year; NAMEs are
#                                             further DNS names of the servers
#        deploy/certs.sh renew DIR [NAME ...] new certificates and keys from
#                                             the newest authorities
#        deploy/certs.sh rotate DIR           new authorities beside the old:
#                                             both are trusted from then on
#        deploy/certs.sh retire DIR           only the newest are trusted
#
# DAYS=N sets another lifetime than 365 days; authorities live ten times as
# long. DIR then holds, for the flags of the programs:
#   servers-ca.crt   --tls-ca of agents and schedulers
#   clients-ca.crt   --tls-ca of the aggregator
#   aggregator.crt, aggregator.key   --tls-cert, --tls-key of the aggregator,
#                                    --http-tls-cert, --http-tls-key too
#   agent.crt, agent.key             --tls-cert, --tls-key of agents
#   scheduler.crt, scheduler.key     the same of schedulers
#   scheduler-server.crt, scheduler-server.key   --http-tls-cert, --http-tls-key
#                                    of schedulers that another one asks
# Keep servers-ca.key and clients-ca.key out of the cluster. How to change
# certificates while everything runs: docs/security.md.
set -eu
umask 077

DAYS=${DAYS:-365}
NAMESPACE=plimsoll

die() {
    echo "certs.sh: $*" >&2
    exit 1
}

usage() {
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" | sed '$d'
}

# new_key FILE
new_key() {
    openssl ecparam -name prime256v1 -genkey -noout -out "$1" 2>/dev/null ||
        die "cannot write '$1'"
}

# new_authority NAME: NAME.key and NAME.newest.crt
new_authority() {
    new_key "$dir/$1.key"
    openssl req -x509 -new -sha256 -key "$dir/$1.key" \
        -subj "/O=plimsoll/CN=$1 $(date -u +%Y-%m-%dT%H:%M:%SZ)" \
        -days $((DAYS * 10)) -out "$dir/$1.newest.crt" \
        -addext "basicConstraints=critical,CA:TRUE" \
        -addext "keyUsage=critical,keyCertSign,cRLSign"
}

# sign NAME AUTHORITY USAGE SAN: NAME.key and NAME.crt
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

# server_names SERVICE [NAME ...]: as a subjectAltName
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

# trust AUTHORITY FILE ...: what is in the files is trusted
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
[ $# -ge 2 ] || die "say what to do and where; see $0 --help"
command=$1 dir=$2
shift 2
case $command in
new)
    [ ! -e "$dir/servers-ca.key" ] ||
        die "'$dir' holds authorities already; see renew and rotate"
    mkdir -p "$dir"
    for authority in servers-ca clients-ca; do
        new_authority $authority
        trust $authority "$dir/$authority.newest.crt"
    done
    sign_all "$@"
    ;;
renew)
    [ -e "$dir/servers-ca.key" ] || die "'$dir' holds no authorities; see new"
    sign_all "$@"
    ;;
rotate)
    [ -e "$dir/servers-ca.key" ] || die "'$dir' holds no authorities; see new"
    # A third authority would push out one that may be in use still.
    [ ! -e "$dir/servers-ca.old.crt" ] ||
        die "'$dir' holds old authorities still: renew, then retire"
    for authority in servers-ca clients-ca; do
        cp "$dir/$authority.newest.crt" "$dir/$authority.old.crt"
        new_authority $authority
        trust $authority "$dir/$authority.newest.crt" "$dir/$authority.old.crt"
    done
    ;;
retire)
    for authority in servers-ca clients-ca; do
        [ -e "$dir/$authority.newest.crt" ] || die "'$dir' holds no authorities"
        trust $authority "$dir/$authority.newest.crt"
        rm -f "$dir/$authority.old.crt"
    done
    ;;
*)
    die "'$command' is none of new, renew, rotate, retire"
    ;;
esac
