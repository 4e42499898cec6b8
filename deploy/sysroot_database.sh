#!/bin/sh
# A hook of `mmdebstrap --variant=extract`, which unpacks packages without
# installing them. The hook writes dpkg's database of the root, so that
# dpkg-query says which package a file comes from.
#
# usage: deploy/sysroot_database.sh ROOT
set -eu

database=$1/var/lib/dpkg
for deb in "$1"/var/cache/apt/archives/*.deb; do
	name=$(dpkg-deb -f "$deb" Package)
	dpkg-deb -f "$deb" | sed '1a Status: install ok installed'
	echo
	dpkg-deb --fsys-tarfile "$deb" | tar -t |
		sed 's,^\.,,; s,/$,,; s,^$,/.,' > "$database/info/$name.list"
done > "$database/status"
# libc's linker script names /lib.
[ -e "$1/lib" ] || ln -s usr/lib "$1/lib"
