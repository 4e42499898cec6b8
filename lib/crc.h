/* CRC-32 as in IEEE 802.3, zlib and PNG. Detects corrupted files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The CRC of the bytes that gave crc followed by these. Start with crc 0. */
uint32_t crc_add(uint32_t crc, const void *bytes, size_t len);
