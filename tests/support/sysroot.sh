#!/bin/sh
# Unpacks Debian packages of another architecture, with all that they depend on,
# into a folder to compile and link against. Nothing of them is executed or
# installed, and dpkg needs no foreign architecture.
# usage: tests/support/sysroot.sh ARCHITECTURE FOLDER PACKAGE...
#
# The suite and the mirrors are those of this machine. A folder that was made
# from the same packages stays as it is.
set -eu

architecture=$1 folder=$2
shift 2
packages=$(echo "$@" | tr ' ' ,)

[ "$(cat "$folder/packages" 2> /dev/null)" != "$packages" ] || exit 0
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
sources=
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
	[ ! -e "$file" ] || sources="$sources $file"
done
rm -rf "$folder" "$folder.new"
mkdir -p "$(dirname "$folder")"
echo "unpacking packages of $architecture into $folder" >&2
# shellcheck disable=SC2086 # no file of apt's has a space in its name
mmdebstrap --quiet --variant=extract --architectures="$architecture" \
	--include="$packages" "$suite" "$folder.new" $sources
echo "$packages" > "$folder.new/packages"
mv "$folder.new" "$folder"
