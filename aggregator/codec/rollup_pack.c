#include "aggregator/codec/rollup_pack.h"

#include "aggregator/codec/column.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ROLLUP_PODS_MAX pods with 60 minutes each of numbers that have no pattern
 * take 30 MiB. */
enum { VERSION = 1, BYTES_MAX = 32 << 20 };
enum { COLUMNS_MAX = 2 + 3 * ROLLUP_FIELDS, SERIES_MAX = 1 << 20 };

/* The units of ROLLUP_NODE_FIELDS. */
#define UNIT_CORES 0.001
#define UNIT_SHARE 0.0001
#define UNIT_BYTES 4096
static const uint64_t hour_length_ms = 3600000;

static double unit_of(bool is_node, size_t field)
{
	static const double of_node[] = {
#define X(group, field, unit, parts) UNIT_##unit,
		ROLLUP_NODE_FIELDS(X)
#undef X
	};
	static const double of_vm[] = {
#define X(field, unit, parts) UNIT_##unit,
		ROLLUP_POD_FIELDS(X)
#undef X
	};

	return is_node ? of_node[field] : of_vm[field];
}

static size_t fields_of(bool is_node)
{
	return is_node ? (size_t)ROLLUP_FIELDS : (size_t)ROLLUP_VM_FIELDS;
}

/* ---- writing ---- */

static void put_figure(uint64_t values[3], const struct rollup_figure *figure,
	double unit)
{
	if (isnan(figure->mean)) {
		values[0] = values[1] = values[2] = REPORT_UNKNOWN;
		return;
	}
	values[0] = (uint64_t)llround(figure->mean / unit);
	values[1] = (uint64_t)llround(figure->max / unit) - values[0];
	values[2] = (uint64_t)llround(figure->p95 / unit) - values[0];
}

static void put_columns(struct buffer *out, const struct rollup_row *rows,
	size_t count, bool is_node)
{
	struct column_presence presence = { 0 };
	uint64_t columns[COLUMNS_MAX][ROLLUP_ROWS];
	size_t fields = fields_of(is_node);

	for (size_t i = 0; i < count; i++) {
		columns[0][i] = rows[i].from_ms % hour_length_ms / 60000;
		columns[1][i] = rows[i].covered_ms;
		for (size_t f = 0; f < fields; f++) {
			uint64_t values[3];

			put_figure(values, &rows[i].figures[f],
				unit_of(is_node, f));
			columns[2 + 3 * f][i] = values[0];
			columns[3 + 3 * f][i] = values[1];
			columns[4 + 3 * f][i] = values[2];
		}
	}
	for (size_t c = 0; c < 2 + 3 * fields; c++) {
		column_write(out, &presence, columns[c], count);
	}
	column_presence_fini(&presence);
}

int rollup_pack(struct buffer *out, const struct rollup *rollup, bool is_hour,
	struct error *err)
{
	scoped_buffer struct buffer headers = BUFFER_MAX(BYTES_MAX);
	scoped_buffer struct buffer parts = BUFFER_MAX(BYTES_MAX);
	struct rollup_row rows[ROLLUP_ROWS];
	uint64_t hour_ms = 0;

	for (size_t s = 0; s < rollup_series_count(rollup); s++) {
		const char *uid = rollup_series_uid(rollup, s);
		size_t count = rollup_rows(rows, rollup, s, is_hour);
		size_t before = parts.len;

		hour_ms = count > 0 ? rows[0].from_ms : hour_ms;
		put_columns(&parts, rows, count, s == 0);
		column_put_varint(&headers, strlen(uid));
		buffer_append(&headers, uid, strlen(uid));
		column_put_varint(&headers, count);
		column_put_varint(&headers, parts.len - before);
	}
	scoped_buffer struct buffer body = BUFFER_MAX(2 * BYTES_MAX + 64);
	column_put_varint(&body, hour_ms / hour_length_ms);
	column_put_varint(&body, rollup_series_count(rollup));
	buffer_append(&body, headers.data, headers.len);
	buffer_append(&body, parts.data, parts.len);
	body.overflowed |= headers.overflowed || parts.overflowed;
	column_seal(out, VERSION, &body);
	return out->overflowed
		? error_set(err, -EFBIG, "the rollup is too large")
		: 0;
}

/* ---- reading ---- */

/* Before the columns of each series. */
struct head {
	char uid[REPORT_UID_MAX];
	size_t rows, bytes;
};

/* The headers are read twice: to find the columns behind them, and beside the
 * columns. A list of them would take as much memory as the blob. */
struct headers {
	uint64_t hour, count;
	struct column_bytes in;
};

static bool get_header(struct head *header, struct column_bytes *in)
{
	uint64_t len, rows, bytes;
	const uint8_t *uid;

	if (!column_get_varint(&len, in) || len >= REPORT_UID_MAX) {
		return false;
	}
	uid = column_get_bytes(in, (size_t)len);
	if (uid == NULL || !column_get_varint(&rows, in) ||
		!column_get_varint(&bytes, in) || rows > ROLLUP_ROWS ||
		bytes > BYTES_MAX) {
		return false;
	}
	*header = (struct head){ .rows = (size_t)rows, .bytes = (size_t)bytes };
	memcpy(header->uid, uid, (size_t)len);
	return true;
}

static bool get_headers(struct headers *headers, struct column_bytes *in)
{
	struct head header;

	if (!column_get_varint(&headers->hour, in) ||
		!column_get_varint(&headers->count, in) ||
		headers->count > SERIES_MAX) {
		return false;
	}
	headers->in = *in;
	for (uint64_t i = 0; i < headers->count; i++) {
		if (!get_header(&header, in)) {
			return false;
		}
	}
	return true;
}

static struct rollup_figure get_figure(const uint64_t values[3], double unit)
{
	if (values[0] == REPORT_UNKNOWN) {
		return (struct rollup_figure){ NAN, NAN, NAN };
	}
	return (struct rollup_figure){
		.mean = (double)values[0] * unit,
		.max = (double)(values[0] + values[1]) * unit,
		.p95 = (double)(values[0] + values[2]) * unit,
	};
}

static bool get_rows(struct rollup_row *rows, const struct head *header,
	uint64_t hour, struct column_bytes *in)
{
	bool is_node = header->uid[0] == '\0';
	struct column_presence presence = { 0 };
	uint64_t columns[COLUMNS_MAX][ROLLUP_ROWS];
	size_t count = header->rows;
	size_t fields = fields_of(is_node);
	bool is_good = true;

	for (size_t c = 0; is_good && c < 2 + 3 * fields; c++) {
		is_good = column_read(columns[c], count, &presence, in);
	}
	column_presence_fini(&presence);
	for (size_t i = 0; is_good && i < count; i++) {
		rows[i] = (struct rollup_row){
			.from_ms =
				hour * hour_length_ms + columns[0][i] * 60000,
			.covered_ms = (uint32_t)columns[1][i],
		};
		for (size_t f = 0; f < (size_t)ROLLUP_FIELDS; f++) {
			const uint64_t none[3] = { REPORT_UNKNOWN };
			const uint64_t values[3] = { columns[2 + 3 * f][i],
				columns[3 + 3 * f][i], columns[4 + 3 * f][i] };

			rows[i].figures[f] =
				get_figure(f < fields ? values : none,
					unit_of(is_node, f < fields ? f : 0));
		}
	}
	return is_good;
}

static bool give_series(struct headers *headers, const char *pod_uid,
	struct column_bytes *in, rollup_unpacked unpacked, void *owner)
{
	struct rollup_row rows[ROLLUP_ROWS];

	for (uint64_t i = 0; i < headers->count; i++) {
		struct column_bytes own;
		struct head header;

		if (!get_header(&header, &headers->in)) {
			return false;
		}
		own.at = column_get_bytes(in, header.bytes);
		own.end = in->at;
		if (own.at == NULL) {
			return false;
		}
		if (pod_uid != NULL && strcmp(header.uid, pod_uid) != 0) {
			continue;
		}
		if (!get_rows(rows, &header, headers->hour, &own)) {
			return false;
		}
		unpacked(owner, header.uid, rows, header.rows);
	}
	return true;
}

int rollup_unpack(const void *bytes, size_t len, const char *pod_uid,
	rollup_unpacked unpacked, void *owner, struct error *err)
{
	struct column_bytes in;
	struct headers headers;
	int r = column_unseal(&in, bytes, len, VERSION, err);

	if (r == 0 &&
		(!get_headers(&headers, &in) ||
			!give_series(&headers, pod_uid, &in, unpacked,
				owner))) {
		r = error_set(err, -EBADMSG, "cannot read the rollup");
	}
	return r;
}
