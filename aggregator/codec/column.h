/* A column of integers as bytes, exact to the bit. Pure.
 *
 * REPORT_UNKNOWN is a value as any other. All differences wrap at 2^64, so that
 * counters that start anew cost bits and break nothing. The format, version 1,
 * of a column whose number of values the reader knows:
 *
 *     byte    0: all values are the same; a varint of value + 1 is all there is;
 *             else 1 + presence + 3 * transform
 *     varint  divisor of all differences to the first value, at least 1
 *     varint  the first known value
 *     bitmap  presence 1 only: a bit per value, lowest first, 1 is known
 *     blocks  of COLUMN_BLOCK numbers, the last one shorter:
 *             byte: bits of width; zigzag varint: least number; numbers minus
 *             the least one, each `width` bits, lowest bit first, filled up to
 *             a whole byte
 *
 * presence is 0: all are known; 1: a bitmap says which; 2: those that the last
 * bitmap of this stream says. What is not known takes no number.
 * A value is first + divisor * u. The numbers are, by transform, 0: u; 1: u
 * minus the u before it; 2: that difference minus the one before it; before
 * the first is 0. A varint has seven bits a byte, lowest first, the high bit
 * says that more follow; zigzag is (n << 1) ^ (n >> 63). */
#pragma once

#include "lib/buffer.h"

#include <stdbool.h>
#include <stddef.h>
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

/* Columns one after the other, in memory of its own between them. Zeroed is the
 * start of a stream, for writing as for reading. */
struct column_presence {
	uint8_t *bits; /* owned; NULL: no bitmap so far */
	size_t count;  /* values it is for */
	size_t known;  /* of them */
};

void column_presence_fini(struct column_presence *presence);

/* Appends count values, at most COLUMN_VALUES_MAX. */
void column_write(struct buffer *out, struct column_presence *presence,
	const uint64_t *values, size_t count);

/* Bytes to read from; every getter checks them. */
struct column_bytes {
	const uint8_t *at, *end;
};

/* False: the bytes end too early or are none of ours. *values is then half
 * written. */
bool column_read(uint64_t *values, size_t count,
	struct column_presence *presence, struct column_bytes *in);

/* Passes over a column: as column_read(), for the price of a look at each
 * block's head. */
bool column_skip(size_t count, struct column_presence *presence,
	struct column_bytes *in);

/* Reads a column whose values are all the same; it has one at least. False: it
 * is another, and nothing was read. */
bool column_read_same(uint64_t *value, struct column_bytes *in);

void column_put_varint(struct buffer *out, uint64_t value);
bool column_get_varint(uint64_t *value, struct column_bytes *in);

/* len bytes of a stream; NULL: so many are not there. */
const uint8_t *column_get_bytes(struct column_bytes *in, size_t len);
