#include "aggregator/codec/column.h"

#include "lib/crc.h"
#include "lib/memory.h"
#include "proto/report.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum { WIDTH_MAX = 64 };

bool column_get_varint(uint64_t *value, struct column_bytes *in)
{
	uint64_t sum = 0;

	for (unsigned int shift = 0; shift < 64 && in->at < in->end;
		shift += 7) {
		uint8_t byte = *in->at;

		in->at++;
		sum |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) == 0) {
			*value = sum;
			return true;
		}
	}
	return false;
}

const uint8_t *column_get_bytes(struct column_bytes *in, size_t len)
{
	const uint8_t *at = in->at;

	if ((size_t)(in->end - at) < len) {
		return NULL;
	}
	in->at += len;
	return at;
}

static uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
}

/* How far a word of eight bytes may reach past the last byte of a block. */
enum { OVER_BYTES = 8 };

/* A block of the stream. */
struct block {
	uint64_t least;
	unsigned int width;
	const uint8_t *packed;
	size_t bytes;
};

static bool get_block_header(struct block *block, size_t count,
	struct column_bytes *in)
{
	const uint8_t *header = column_get_bytes(in, 1);
	uint64_t least;

	if (header == NULL || *header > WIDTH_MAX ||
		!column_get_varint(&least, in)) {
		return false;
	}
	block->least = unzigzag(least);
	block->width = *header;
	block->bytes = (block->width * count + 7) / 8;
	block->packed = column_get_bytes(in, block->bytes);
	return block->packed != NULL;
}

static uint64_t load_word(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}

/* For numbers that may reach past the word at their first byte. */
static void unpack_wide(uint64_t *numbers, size_t count,
	const struct block *block)
{
	const uint64_t mask = UINT64_MAX >> (64 - block->width);
	size_t bit = 0;

	for (size_t i = 0; i < count; i++, bit += block->width) {
		const uint8_t *at = block->packed + bit / 8;
		unsigned int shift = (unsigned int)(bit % 8);
		uint64_t word = load_word(at) >> shift;

		if (shift > 0) {
			word |= (uint64_t)at[8] << (64 - shift);
		}
		numbers[i] = block->least + (word & mask);
	}
}

/* Reads up to OVER_BYTES past the packed bytes; width is not 0. */
static void unpack(uint64_t *numbers, size_t count, const struct block *block)
{
	const unsigned int width = block->width;
	const uint64_t mask = UINT64_MAX >> (64 - width);
	const uint64_t least = block->least;
	size_t bit = 0;

	if (width > 64 - 7) {
		unpack_wide(numbers, count, block);
		return;
	}
	for (size_t i = 0; i < count; i++, bit += width) {
		uint64_t word = load_word(block->packed + bit / 8) >> bit % 8;

		numbers[i] = least + (word & mask);
	}
}

static bool get_block(uint64_t *numbers, size_t count, struct column_bytes *in)
{
	uint8_t copy[COLUMN_BLOCK * 8 + OVER_BYTES];
	struct block block;

	if (!get_block_header(&block, count, in)) {
		return false;
	}
	if (block.width == 0) {
		for (size_t i = 0; i < count; i++) {
			numbers[i] = block.least;
		}
		return true;
	}
	if ((size_t)(in->end - in->at) < OVER_BYTES) {
		memcpy(copy, block.packed, block.bytes);
		memset(copy + block.bytes, 0, OVER_BYTES);
		block.packed = copy;
	}
	unpack(numbers, count, &block);
	return true;
}

static size_t count_bits(const uint8_t *bits, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += bits[i / 8] >> i % 8 & 1;
	}
	return sum;
}

static bool read_presence(struct column_presence *presence, size_t *known,
	enum column_kind kind, size_t count, struct column_bytes *in)
{
	if (kind == COLUMN_ALL_KNOWN) {
		*known = count;
		return true;
	}
	if (kind == COLUMN_OWN_BITMAP) {
		const uint8_t *bits = column_get_bytes(in, (count + 7) / 8);

		if (bits == NULL) {
			return false;
		}
		column_presence_fini(presence);
		presence->bits = xmemdup(bits, (count + 7) / 8);
		presence->count = count;
		presence->known = count_bits(bits, count);
	}
	if (presence->bits == NULL || presence->count != count) {
		return false;
	}
	*known = presence->known;
	return true;
}

/* Moves the known values from the front to their places. */
static void spread(uint64_t *values, size_t count, size_t known,
	const uint8_t *bits)
{
	for (size_t i = count; i > 0; i--) {
		bool is_known = (bits[(i - 1) / 8] >> (i - 1) % 8 & 1) != 0;

		if (is_known) {
			known--;
		}
		values[i - 1] = is_known ? values[known] : REPORT_UNKNOWN;
	}
}

/* The bytes before the blocks. */
struct column_header {
	enum column_kind kind;
	size_t transform;
	uint64_t divisor, first;
	size_t known; /* numbers in the blocks */
};

static bool read_column_header(struct column_header *header, size_t count,
	struct column_presence *presence, struct column_bytes *in)
{
	const uint8_t *mode = column_get_bytes(in, 1);

	if (mode == NULL || *mode == 0 ||
		*mode > COLUMN_PRESENCES * COLUMN_TRANSFORMS) {
		return false;
	}
	header->kind = (enum column_kind)((*mode - 1) % COLUMN_PRESENCES);
	header->transform = (*mode - 1U) / COLUMN_PRESENCES;
	return column_get_varint(&header->divisor, in) &&
		column_get_varint(&header->first, in) &&
		read_presence(presence, &header->known, header->kind, count,
			in);
}

bool column_read_same(uint64_t *value, struct column_bytes *in)
{
	struct column_bytes rest = *in;
	const uint8_t *mode = column_get_bytes(&rest, 1);
	uint64_t above;

	if (mode == NULL || *mode != 0 || !column_get_varint(&above, &rest)) {
		return false;
	}
	*value = above - 1;
	*in = rest;
	return true;
}

bool column_skip(size_t count, struct column_presence *presence,
	struct column_bytes *in)
{
	struct block block;
	struct column_header header;
	uint64_t same;

	if (count == 0 || column_read_same(&same, in)) {
		return true;
	}
	if (!read_column_header(&header, count, presence, in)) {
		return false;
	}
	for (size_t at = 0; at < header.known; at += COLUMN_BLOCK) {
		if (!get_block_header(&block, column_block_at(at, header.known),
			    in)) {
			return false;
		}
	}
	return true;
}

/* Reverses the transform and the divisor in one pass. */
static void to_values(uint64_t *numbers, const struct column_header *header)
{
	const uint64_t divisor = header->divisor;
	uint64_t value = header->first;
	uint64_t step = 0;

	if (header->transform == 0) {
		for (size_t i = 0; i < header->known; i++) {
			numbers[i] = value + divisor * numbers[i];
		}
	} else if (header->transform == 1) {
		for (size_t i = 0; i < header->known; i++) {
			value += divisor * numbers[i];
			numbers[i] = value;
		}
	} else {
		for (size_t i = 0; i < header->known; i++) {
			step += divisor * numbers[i];
			value += step;
			numbers[i] = value;
		}
	}
}

static bool read_numbers(uint64_t *numbers, const struct column_header *header,
	struct column_bytes *in)
{
	for (size_t at = 0; at < header->known; at += COLUMN_BLOCK) {
		if (!get_block(numbers + at, column_block_at(at, header->known),
			    in)) {
			return false;
		}
	}
	to_values(numbers, header);
	return true;
}

bool column_read(uint64_t *values, size_t count,
	struct column_presence *presence, struct column_bytes *in)
{
	struct column_header header;
	uint64_t same;

	if (count == 0) {
		return true;
	}
	if (column_read_same(&same, in)) {
		for (size_t i = 0; i < count; i++) {
			values[i] = same;
		}
		return true;
	}
	if (!read_column_header(&header, count, presence, in) ||
		!read_numbers(values, &header, in)) {
		return false;
	}
	if (header.kind != COLUMN_ALL_KNOWN) {
		spread(values, count, header.known, presence->bits);
	}
	return true;
}

int column_unseal(struct column_bytes *in, const void *bytes, size_t len,
	uint8_t version, struct error *err)
{
	const uint8_t *at = bytes;
	uint32_t crc = 0;

	if (len < COLUMN_SEAL_BYTES || at[0] != version) {
		return error_set(err, -EBADMSG, "unknown format version");
	}
	for (int i = 0; i < 4; i++) {
		crc |= (uint32_t)at[1 + i] << (8 * i);
	}
	*in = (struct column_bytes){ at + COLUMN_SEAL_BYTES, at + len };
	if (crc != crc_add(0, in->at, len - COLUMN_SEAL_BYTES)) {
		return error_set(err, -EBADMSG, "wrong checksum");
	}
	return 0;
}
