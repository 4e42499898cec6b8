#!/bin/sh
# Writes files as C: the table of lib/http/httpd_static.h, with each file's content
# as it is and as gzip.
#
# usage: lib/embed_files.sh TABLE FILE... > TABLE.c
#
# The same files give the same text.
set -eu
export LC_ALL=C

table=$1
shift

bytes() {
	echo "static const unsigned char $1[] = {"
	od -An -v -tx1 | sed 's/ \(..\)/0x\1,/g'
	echo "};"
}

echo '#include "lib/http/httpd_static.h"'
number=0
for file; do
	bytes "plain_$number" < "$file"
	gzip -9n < "$file" | bytes "gzip_$number"
	number=$((number + 1))
done
echo "const struct httpd_static_file $table[] = {"
number=0
for file; do
	tag=$(sha256sum < "$file" | cut -c1-32)
	echo "{ \"${file##*/}\", \"$tag\", plain_$number, gzip_$number,"
	echo "sizeof(plain_$number), sizeof(gzip_$number) },"
	number=$((number + 1))
done
echo "};"
echo "const size_t ${table}_count = $number;"
