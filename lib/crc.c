#include "lib/crc.h"

/* For the reflected polynomial, four bits at a time. */
static const uint32_t nibbles[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8,
	0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320,
	0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278,
	0xbdbdf21c };

/* Filling the tables for eight bytes at a time costs as much as processing this
 * many bytes by nibbles. */
enum { WORTH_TABLES = 4096 };

static uint32_t add_byte(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	crc = crc >> 4 ^ nibbles[crc & 15];
	return crc >> 4 ^ nibbles[crc & 15];
}

/* tables[k][b]: the contribution of byte b when k bytes follow it. */
static void make_tables(uint32_t tables[8][256])
{
	for (uint32_t b = 0; b < 256; b++) {
		tables[0][b] = add_byte(0, (uint8_t)b);
	}
	for (int k = 1; k < 8; k++) {
		for (uint32_t b = 0; b < 256; b++) {
			uint32_t crc = tables[k - 1][b];

			tables[k][b] = crc >> 8 ^ tables[0][crc & 255];
		}
	}
}

static uint32_t add_long(uint32_t crc, const uint8_t *bytes, size_t words)
{
	uint32_t tables[8][256];

	make_tables(tables);
	for (size_t i = 0; i < words; i++, bytes += 8) {
		crc ^= (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
			(uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
		crc = tables[7][crc & 255] ^ tables[6][crc >> 8 & 255] ^
			tables[5][crc >> 16 & 255] ^ tables[4][crc >> 24] ^
			tables[3][bytes[4]] ^ tables[2][bytes[5]] ^
			tables[1][bytes[6]] ^ tables[0][bytes[7]];
	}
	return crc;
}

uint32_t crc_add(uint32_t crc, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	crc = ~crc;
	if (len >= WORTH_TABLES) {
		crc = add_long(crc, at, len / 8);
		at += len / 8 * 8;
		len %= 8;
	}
	for (size_t i = 0; i < len; i++) {
		crc = add_byte(crc, at[i]);
	}
	return ~crc;
}
