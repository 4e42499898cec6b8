#!/bin/sh
# Lays out the root of an image that contains only what one program needs: the
# program, the libraries that it is linked with, and their copyright files.
#
# usage: deploy/closure.sh PROGRAM FOLDER [SYSROOT]
#
# The libraries come from SYSROOT (default: /), which may be of another
# architecture than this machine: the script reads which libraries a file needs
# and runs nothing of SYSROOT. It writes FOLDER/NAME, FOLDER/usr/lib/... and
# FOLDER/usr/share/doc/PACKAGE/copyright. FOLDER.packages gets a line NAME
# VERSION for each Debian package that a file comes from. The libraries that
# glibc loads on demand are not needed: libc (2.34 and newer) resolves names
# itself, and the programs use no locale and no character set.
set -eu
export LC_ALL=C

die() {
	echo "closure.sh: $*" >&2
	exit 1
}

[ $# -eq 2 ] || [ $# -eq 3 ] || die "a program and a folder are required"
program=$1 root=$2 sysroot=${3-}

machine=$(readelf -h "$program" | sed -n 's/^ *Machine: *//p')
case $machine in
*X86-64*) triplet=x86_64-linux-gnu ;;
AArch64) triplet=aarch64-linux-gnu ;;
*) die "no support for programs of $machine" ;;
esac
loader=$(readelf -l "$program" |
	sed -n 's/.*program interpreter: \(.*\)\]$/\1/p')

# The libraries that a file names, without the loader.
needed() {
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' |
		grep -vxF "${loader##*/}" || true
}

# Adds the libraries that a file needs to the list, each once.
add_needed() {
	for name in $(needed "$1"); do
		grep -qxF "$name" "$root.libraries" ||
			echo "$name" >> "$root.libraries"
	done
}

# Copies the file $1 of the sysroot to the same path of the image.
copy() {
	real=$(readlink -f "$sysroot$1") || die "$sysroot$1 is missing"
	mkdir -p "$root${1%/*}"
	install -m 0755 "$real" "$root$1"
	echo "${real#"$sysroot"}" >> "$root.files"
}

query() {
	dpkg-query --admindir="$sysroot/var/lib/dpkg" "$@"
}

# The packages that the copied files come from. dpkg knows a file by the path
# that it was packaged with, which may lack /usr.
owners() {
	query -S $(cat "$root.files" && sed 's,^/usr,,' "$root.files") \
		2>/dev/null > "$root.owned" || true
	known=$(sed 's/.*: //; s,^/usr,,' "$root.owned" | sort -u | wc -l)
	[ "$known" -eq "$(sort -u "$root.files" | wc -l)" ] ||
		die "no package has one of $(tr '\n' ' ' < "$root.files")"
	sed 's/:.*//' "$root.owned" | sort -u
}

rm -rf "$root"
mkdir -p "$root/usr/lib" "$root/usr/lib64"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
install -m 0755 "$program" "$root/"
"$triplet-strip" "$root/${program##*/}"

: > "$root.libraries"
: > "$root.files"
copy "/usr${loader#/usr}"
add_needed "$program"
# The list grows while it is read.
while read -r name; do
	library=/usr/lib/$triplet/$name
	[ -e "$sysroot$library" ] || die "$name is not in /usr/lib/$triplet"
	copy "$library"
	add_needed "$sysroot$library"
done < "$root.libraries"

packages=$(owners)
for package in $packages; do
	query -W -f '${Package} ${Version}\n' "$package"
	install -D -m 0644 "$sysroot/usr/share/doc/$package/copyright" \
		"$root/usr/share/doc/$package/copyright"
done > "$root.packages"
rm -f "$root.libraries" "$root.files" "$root.owned"
