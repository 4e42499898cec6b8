#!/bin/sh
# Lays out what one program needs and nothing else, as the root of an image: the
# program, the libraries it is linked with, who wrote them.
#
# usage: deploy/closure.sh PROGRAM FOLDER
#
# FOLDER gets /NAME, /usr/lib/..., /usr/share/doc/PACKAGE/copyright, and
# FOLDER.packages, a line NAME VERSION for each Debian package that gave a file.
# What glibc would load on demand is not needed: names are resolved by code
# within libc (2.34 and newer), no locale and no character set is used.
set -eu

[ $# -eq 2 ] || {
	echo "closure.sh: name a program and a folder" >&2
	exit 1
}
program=$1 root=$2

rm -rf "$root"
mkdir -p "$root/usr/lib" "$root/usr/lib64"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
install -m 0755 "$program" "$root/"
strip "$root/${program##*/}"

# Every path that ldd prints, the loader among them; the kernel's own has none.
ldd "$program" | grep -o '/[^ ]*' | LC_ALL=C sort -u > "$root.libraries"
: > "$root.owners"
while read -r library; do
	case $library in
	/usr/*) path=$library ;;
	*) path=/usr$library ;;
	esac
	mkdir -p "$root${path%/*}"
	install -m 0755 "$(readlink -f "$library")" "$root$path"
	# dpkg knows a file by the path it was packed with.
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
