#!/bin/sh
# Unpacks Debian packages into a folder without installing them: no kernel gets
# into /boot, no service starts, no package is replaced. A kernel's modules are
# left out.
# usage: tests/support/fetch.sh [--architecture=NAME] FOLDER PACKAGE...
#
# The architecture is this machine's if no other is named. For another one, apt
# gets its own lists, in FOLDER/apt, so that it still knows only one.
#
# A package that is there already is not fetched again. For a package that only
# depends on another one (linux-image-cloud-amd64 depends on the current kernel)
# the other one is fetched.
set -eu

architecture=
case $1 in
--architecture=*)
	architecture=${1#*=}
	shift
	;;
esac
folder=$1
shift

if [ -n "$architecture" ]; then
	mkdir -p "$folder/apt/lists/partial"
	apt=$(realpath "$folder")/apt
	: > "$apt/status"
	cat > "$apt/config" <<-END
		APT::Architecture "$architecture";
		APT::Architectures { "$architecture"; };
		APT::Sandbox::User "";
		Dir::State "$apt";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt";
	END
	export APT_CONFIG="$apt/config"
fi

# Without package lists, or with old ones, the first download fails.
update() {
	sudo=$([ -n "$architecture" ] || [ "$(id -u)" = 0 ] || echo sudo)
	$sudo apt-get update -q >&2
}

# The package with the files: $1, or the kernel that $1 depends on.
real_name() {
	case $1 in
	linux-image-*)
		apt-cache depends "$1" |
			sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' |
			grep . || echo "$1"
		;;
	*) echo "$1" ;;
	esac
}

download() {
	(cd "$1" && apt-get -q -o APT::Sandbox::User= \
		download "$(real_name "$2")") >&2
}

for package in "$@"; do
	done=$folder/$package
	[ -d "$done" ] && continue
	new=$done.new
	rm -rf "$new"
	mkdir -p "$new"
	download "$new" "$package" || { update && download "$new" "$package"; }
	dpkg-deb --fsys-tarfile "$new"/*.deb |
		tar -x -C "$new" --exclude=./lib/modules
	rm "$new"/*.deb
	mv "$new" "$done"
done
