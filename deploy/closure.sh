#!/bin/sh
# Lays out the root of an image that contains only what one program needs: the
# program, the libraries that it is linked with, and their copyright files.
#
# usage: deploy/closure.sh PROGRAM FOLDER
#
# The script writes FOLDER/NAME, FOLDER/usr/lib/... and
# FOLDER/usr/share/doc/PACKAGE/copyright. FOLDER.packages gets a line NAME
# VERSION for each Debian package that a file comes from. The libraries that
# glibc loads on demand are not needed: libc (2.34 and newer) resolves names
# itself, and the programs use no locale and no character set.
set -eu

[ $# -eq 2 ] || {
	echo "closure.sh: a program and a folder are required" >&2
	exit 1
}
program=$1 root=$2

rm -rf "$root"
mkdir -p "$root/usr/lib" "$root/usr/lib64"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
install -m 0755 "$program" "$root/"
strip "$root/${program##*/}"

# Every path that ldd prints, including the loader. The vDSO has no path.
ldd "$program" | grep -o '/[^ ]*' | LC_ALL=C sort -u > "$root.libraries"
: > "$root.owners"
while read -r library; do
	case $library in
	/usr/*) path=$library ;;
	*) path=/usr$library ;;
	esac
	mkdir -p "$root${path%/*}"
	install -m 0755 "$(readlink -f "$library")" "$root$path"
	# dpkg knows a file by the path that it was packaged with.
	real=$(readlink -f "$library")
	owner=$(dpkg-query -S "$real" 2>/dev/null ||
		dpkg-query -S "${real#/usr}")
	echo "${owner%%:*}" >> "$root.owners"
done < "$root.libraries"

LC_ALL=C sort -u "$root.owners" | while read -r package; do
	dpkg-query -W -f '${Package} ${Version}\n' "$package"
	install -D -m 0644 "/usr/share/doc/$package/copyright" \
		"$root/usr/share/doc/$package/copyright"
done > "$root.packages"
rm -f "$root.libraries" "$root.owners"
