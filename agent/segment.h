/* A spool's file as bytes: a header that names the run, and behind it one
 * record per report, in rising order of seq. Pure; agent/spool.h does the I/O.
 *
 *     header  "PLSP", version, run id (16 bytes), CRC of these 24 bytes, 0
 *     record  length of the body, CRC of seq and body, seq, body
 *
 * Numbers are little-endian, of 4 bytes, seq of 8; the body is a report as
 * wire_pack_report() makes it. The CRC is that of IEEE 802.3, which finds a
 * tail that was torn by a kill or a full disk: reading ends before it. */
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

/* False: no header of ours, of no version we know, or a damaged one. */
bool segment_get_header(uint8_t run_id[REPORT_RUN_ID_BYTES],
	const uint8_t *bytes, size_t len);

/* len is 1 to SEGMENT_BODY_MAX. */
void segment_put_record(struct buffer *out, uint64_t seq, const uint8_t *body,
	size_t len);

/* The record at the begin of bytes; false where there is no whole and sound
 * one. */
bool segment_get_record(struct segment_record *out, const uint8_t *bytes,
	size_t len);
