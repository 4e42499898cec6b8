#include "aggregator/codec/column.h"

#include "lib/crc.h"
#include "lib/memory.h"
#include "proto/report.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT_BYTES = 10 };

void column_presence_fini(struct column_presence *presence)
{
	free(presence->bits);
	*presence = (struct column_presence){ 0 };
}

void column_put_varint(struct buffer *out, uint64_t value)
{
	uint8_t bytes[VARINT_BYTES];
	size_t len = 0;

	while (value >= 0x80) {
		bytes[len++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[len] = (uint8_t)value;
	buffer_append(out, bytes, len + 1);
}

static uint64_t zigzag(uint64_t value)
{
	return value << 1 ^ (0 - (value >> 63));
}

static unsigned int width_of(uint64_t value)
{
	return value == 0 ? 0 : 64 - (unsigned int)__builtin_clzll(value);
}

static size_t varint_size(uint64_t value)
{
	return value == 0 ? 1 : (width_of(value) + 6) / 7;
}

/* Least number of a block, and bits of the greatest difference to it. */
struct frame {
	uint64_t least;
	unsigned int width;
};

static struct frame frame_of(const uint64_t *numbers, size_t count)
{
	int64_t least = (int64_t)numbers[0];
	int64_t most = least;

	for (size_t i = 1; i < count; i++) {
		int64_t number = (int64_t)numbers[i];

		least = number < least ? number : least;
		most = number > most ? number : most;
	}
	return (struct frame){ (uint64_t)least,
		width_of((uint64_t)most - (uint64_t)least) };
}

static size_t cost_of(const uint64_t *numbers, size_t count)
{
	size_t bytes = 0;

	for (size_t at = 0; at < count; at += COLUMN_BLOCK) {
		size_t block = column_block_at(at, count);
		struct frame frame = frame_of(numbers + at, block);

		bytes += 1 + varint_size(zigzag(frame.least)) +
			(frame.width * block + 7) / 8;
	}
	return bytes;
}

static void put_block(struct buffer *out, const uint64_t *numbers, size_t count)
{
	struct frame frame = frame_of(numbers, count);
	uint8_t packed[COLUMN_BLOCK * 8] = { 0 };
	size_t bit = 0;

	buffer_char(out, (char)frame.width);
	column_put_varint(out, zigzag(frame.least));
	for (size_t i = 0; i < count; i++) {
		uint64_t rest = numbers[i] - frame.least;
		unsigned int left = frame.width;

		while (left > 0) {
			unsigned int room = 8 - (unsigned int)(bit % 8);
			unsigned int take = left < room ? left : room;
			unsigned int part =
				(unsigned int)rest & ((1U << take) - 1);

			packed[bit / 8] |= (uint8_t)(part << bit % 8);
			rest >>= take;
			left -= take;
			bit += take;
		}
	}
	buffer_append(out, packed, (bit + 7) / 8);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Turns values into multiples of their common divisor, counted from the first,
 * and returns the divisor. Totals that the kernel counts in ticks or pages lose
 * ten bits or more here. */
static uint64_t scale(uint64_t *values, size_t count)
{
	uint64_t first = values[0];
	uint64_t divisor = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t step;

		values[i] -= first;
		step = (int64_t)values[i];
		if (divisor != 1) {
			divisor = common_divisor(
				step < 0 ? 0 - (uint64_t)step : (uint64_t)step,
				divisor);
		}
	}
	/* 2^63 does not fit int64_t, and one value has no differences. */
	if (divisor == 0 || divisor > INT64_MAX) {
		return 1;
	}
	for (size_t i = 0; divisor > 1 && i < count; i++) {
		values[i] = (uint64_t)((int64_t)values[i] / (int64_t)divisor);
	}
	return divisor;
}

static void subtract_previous(uint64_t *out, const uint64_t *numbers,
	size_t count)
{
	uint64_t before = 0;

	for (size_t i = 0; i < count; i++) {
		out[i] = numbers[i] - before;
		before = numbers[i];
	}
}

static bool is_same_presence(const struct column_presence *presence,
	const uint8_t *bits, size_t count)
{
	return presence->bits != NULL && presence->count == count &&
		memcmp(presence->bits, bits, (count + 7) / 8) == 0;
}

/* Copies the known values; remembers a new bitmap. */
static enum column_kind drop_unknown(uint64_t *known, size_t *known_count,
	struct column_presence *presence, const uint64_t *values, size_t count)
{
	uint8_t *bits = xcalloc((count + 7) / 8, 1);
	enum column_kind kind = COLUMN_OWN_BITMAP;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (values[i] != REPORT_UNKNOWN) {
			known[kept++] = values[i];
			bits[i / 8] |= (uint8_t)(1U << i % 8);
		}
	}
	*known_count = kept;
	if (kept == count) {
		kind = COLUMN_ALL_KNOWN;
	} else if (is_same_presence(presence, bits, count)) {
		kind = COLUMN_LAST_BITMAP;
	}
	if (kind == COLUMN_OWN_BITMAP) {
		column_presence_fini(presence);
		*presence =
			(struct column_presence){ take_ptr(bits), count, kept };
	}
	free(bits);
	return kind;
}

static bool all_same(const uint64_t *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (values[i] != values[0]) {
			return false;
		}
	}
	return true;
}

void column_write(struct buffer *out, struct column_presence *presence,
	const uint64_t *values, size_t count)
{
	uint64_t numbers[COLUMN_TRANSFORMS][COLUMN_VALUES_MAX];
	size_t costs[COLUMN_TRANSFORMS];
	size_t known, best = 0;
	uint64_t first, divisor;
	enum column_kind kind;

	if (count == 0) {
		return;
	}
	if (all_same(values, count)) {
		buffer_char(out, 0);
		column_put_varint(out, values[0] + 1);
		return;
	}
	/* At least one value is known, as two are different. */
	numbers[0][0] = 0;
	kind = drop_unknown(numbers[0], &known, presence, values, count);
	first = numbers[0][0];
	divisor = scale(numbers[0], known);
	subtract_previous(numbers[1], numbers[0], known);
	subtract_previous(numbers[2], numbers[1], known);
	for (size_t i = 0; i < COLUMN_TRANSFORMS; i++) {
		costs[i] = cost_of(numbers[i], known);
		best = costs[i] < costs[best] ? i : best;
	}
	buffer_char(out, (char)(1 + kind + COLUMN_PRESENCES * best));
	column_put_varint(out, divisor);
	column_put_varint(out, first);
	if (kind == COLUMN_OWN_BITMAP) {
		buffer_append(out, presence->bits, (count + 7) / 8);
	}
	for (size_t at = 0; at < known; at += COLUMN_BLOCK) {
		put_block(out, numbers[best] + at, column_block_at(at, known));
	}
}

void column_seal(struct buffer *out, uint8_t version, const struct buffer *body)
{
	uint8_t head[COLUMN_SEAL_BYTES] = { version };
	uint32_t crc = crc_add(0, body->data, body->len);

	for (int i = 0; i < 4; i++) {
		head[1 + i] = (uint8_t)(crc >> (8 * i));
	}
	out->overflowed |= body->overflowed;
	buffer_append(out, head, sizeof(head));
	buffer_append(out, body->data, body->len);
}
