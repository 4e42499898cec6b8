/* The format of a spool's file: a header with the run id, followed by one
 * record per report in ascending order of seq. Pure; agent/spool.h does the
 * I/O.
 *
 *     header  "PLSP", version, run id (16 bytes), CRC of these 24 bytes, 0
 *     record  length of the body, CRC of seq and body, seq, body
 *
 * Numbers are little-endian and have 4 bytes, seq has 8. The body is a report
 * as wire_pack_report() makes it. The CRC is that of IEEE 802.3. It finds a
 * tail that a kill or a full disk tore: reading ends before the tail. */
#pragma once

#include "lib/buffer.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SEGMENT_VERSION = 1,
	SEGMENT_HEADER_BYTES = 32,
	SEGMENT_RECORD_BYTES = 16, /* before each body */
	SEGMENT_BODY_MAX = 512 << 10,
};

struct segment_record {
	uint64_t seq;
	const uint8_t *body; /* borrowed from the bytes */
	size_t len;
};

void segment_put_header(struct buffer *out,
	const uint8_t run_id[REPORT_RUN_ID_BYTES]);

/* False: no segment header, an unknown version, or a damaged header. */
bool segment_get_header(uint8_t run_id[REPORT_RUN_ID_BYTES],
	const uint8_t *bytes, size_t len);

/* len is 1 to SEGMENT_BODY_MAX. */
void segment_put_record(struct buffer *out, uint64_t seq, const uint8_t *body,
	size_t len);

/* Reads the record at the start of bytes. False: the record is incomplete or
 * damaged. */
bool segment_get_record(struct segment_record *out, const uint8_t *bytes,
	size_t len);
