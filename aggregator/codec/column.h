/* A column of integers as bytes, exact to the bit. Pure.
 *
 * REPORT_UNKNOWN is a value like any other. All differences wrap at 2^64, so a
 * counter that restarts costs some bits but is still exact. The format,
 * version 1, of a column whose number of values the reader knows:
 *
 *     byte    0: all values are the same, and only a varint of value + 1
 *             follows; else 1 + presence + 3 * transform
 *     varint  common divisor of all differences to the first value, at least 1
 *     varint  the first known value
 *     bitmap  only if presence is 1: a bit per value, lowest first, 1 is known
 *     blocks  of COLUMN_BLOCK numbers, the last one shorter:
 *             byte: width in bits; zigzag varint: the least number; the numbers
 *             minus the least one, `width` bits each, lowest bit first, padded
 *             to a whole byte
 *
 * presence is 0: all values are known; 1: a bitmap follows; 2: the last bitmap
 * of the stream applies. Unknown values take no number.
 * A value is first + divisor * u. The numbers are, by transform, 0: u; 1: u
 * minus the previous u; 2: that difference minus the previous one; before the
 * first is 0. A varint has seven bits a byte, lowest first; its high bit says
 * that another byte follows. zigzag is (n << 1) ^ (n >> 63). */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdint.h>

enum { COLUMN_BLOCK = 64, COLUMN_VALUES_MAX = 8192, COLUMN_TRANSFORMS = 3 };

/* `presence` above. */
enum column_kind {
	COLUMN_ALL_KNOWN,
	COLUMN_OWN_BITMAP,
	COLUMN_LAST_BITMAP,
	COLUMN_PRESENCES,
};

/* Numbers in the block that begins with number `at` of count. */
static inline size_t column_block_at(size_t at, size_t count)
{
	return count - at < COLUMN_BLOCK ? count - at : COLUMN_BLOCK;
}

/* The last bitmap of a stream of columns. Zeroed at the start of a stream, for
 * writing and for reading. */
struct column_presence {
	uint8_t *bits; /* owned; NULL: no bitmap so far */
	size_t count;  /* values */
	size_t known;  /* of these values */
};

void column_presence_fini(struct column_presence *presence);

/* Appends count values, at most COLUMN_VALUES_MAX. */
void column_write(struct buffer *out, struct column_presence *presence,
	const uint64_t *values, size_t count);

/* Bytes to read from; each getter checks the end. */
struct column_bytes {
	const uint8_t *at, *end;
};

/* False: the bytes end too early or are damaged; *values may be partly
 * written. */
bool column_read(uint64_t *values, size_t count,
	struct column_presence *presence, struct column_bytes *in);

/* Skips a column, like column_read(), but reads only the headers of the
 * blocks. */
bool column_skip(size_t count, struct column_presence *presence,
	struct column_bytes *in);

/* Reads a column of one or more values that are all the same. False: another
 * column, or damaged; nothing was read. */
bool column_read_same(uint64_t *value, struct column_bytes *in);

void column_put_varint(struct buffer *out, uint64_t value);
bool column_get_varint(uint64_t *value, struct column_bytes *in);

/* len bytes of a stream; NULL: there are fewer. */
const uint8_t *column_get_bytes(struct column_bytes *in, size_t len);

/* A chunk or rollup begins with its version in a byte and the CRC-32 of the
 * rest, lowest byte first. A body that overflowed makes *out overflow, too. */
enum { COLUMN_SEAL_BYTES = 5 };
void column_seal(struct buffer *out, uint8_t version,
	const struct buffer *body);

/* Checks both; *in is the rest. -EBADMSG: another version, or damaged. */
must_check int column_unseal(struct column_bytes *in, const void *bytes,
	size_t len, uint8_t version, struct error *err);
