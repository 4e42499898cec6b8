#include "agent/segment.h"

#include "lib/crc.h"

#include <endian.h>
#include <string.h>

static const uint8_t magic[4] = { 'P', 'L', 'S', 'P' };

static void put_number(uint8_t *out, uint64_t value, size_t bytes)
{
	value = htole64(value);
	memcpy(out, &value, bytes);
}

static uint64_t get_number(const uint8_t *in, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, in, bytes);
	return le64toh(value);
}

static uint32_t header_crc(const uint8_t *header)
{
	return crc_add(0, header, 24);
}

void segment_put_header(struct buffer *out,
	const uint8_t run_id[REPORT_RUN_ID_BYTES])
{
	uint8_t header[SEGMENT_HEADER_BYTES] = { 0 };

	memcpy(header, magic, sizeof(magic));
	put_number(header + 4, SEGMENT_VERSION, 4);
	memcpy(header + 8, run_id, REPORT_RUN_ID_BYTES);
	put_number(header + 24, header_crc(header), 4);
	buffer_append(out, header, sizeof(header));
}

bool segment_get_header(uint8_t run_id[REPORT_RUN_ID_BYTES],
	const uint8_t *bytes, size_t len)
{
	if (len < SEGMENT_HEADER_BYTES ||
		memcmp(bytes, magic, sizeof(magic)) != 0 ||
		get_number(bytes + 4, 4) != SEGMENT_VERSION ||
		get_number(bytes + 24, 4) != header_crc(bytes)) {
		return false;
	}
	memcpy(run_id, bytes + 8, REPORT_RUN_ID_BYTES);
	return true;
}

static uint32_t record_crc(const uint8_t *seq, const uint8_t *body, size_t len)
{
	return crc_add(crc_add(0, seq, 8), body, len);
}

void segment_put_record(struct buffer *out, uint64_t seq, const uint8_t *body,
	size_t len)
{
	uint8_t head[SEGMENT_RECORD_BYTES];

	put_number(head, len, 4);
	put_number(head + 8, seq, 8);
	put_number(head + 4, record_crc(head + 8, body, len), 4);
	buffer_append(out, head, sizeof(head));
	buffer_append(out, body, len);
}

bool segment_get_record(struct segment_record *out, const uint8_t *bytes,
	size_t len)
{
	uint64_t body_len;
	const uint8_t *body;

	if (len < SEGMENT_RECORD_BYTES) {
		return false;
	}
	body_len = get_number(bytes, 4);
	body = bytes + SEGMENT_RECORD_BYTES;
	if (body_len == 0 || body_len > SEGMENT_BODY_MAX ||
		body_len > len - SEGMENT_RECORD_BYTES ||
		get_number(bytes + 4, 4) !=
			record_crc(bytes + 8, body, (size_t)body_len)) {
		return false;
	}
	*out = (struct segment_record){
		.seq = get_number(bytes + 8, 8),
		.body = body,
		.len = (size_t)body_len,
	};
	return true;
}
