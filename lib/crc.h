/* CRC-32 as in IEEE 802.3, zlib and PNG: finds what a disk got wrong. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of more bytes after those that gave crc; begin with 0. */
uint32_t crc_add(uint32_t crc, const void *bytes, size_t len);
