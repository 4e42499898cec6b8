#include "proto/wire_fields.h"

#include "lib/arena.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const void *at(const void *base, size_t offset)
{
	return (const char *)base + offset;
}

static void *at_mutable(void *base, size_t offset)
{
	return (char *)base + offset;
}

/* The kinds of one width follow each other in enum report_kind. */
static bool is_u64(enum report_kind kind)
{
	return kind <= REPORT_PLAIN_U64;
}

static bool is_u32(enum report_kind kind)
{
	return kind <= REPORT_KVM_LEVEL;
}

/* These put the value and return whether it is sent. */
static bool put_u64(void *wire, const void *ours, enum report_kind kind)
{
	uint64_t value = *(const uint64_t *)ours;

	*(uint64_t *)wire = value;
	return value != REPORT_UNKNOWN || kind == REPORT_PLAIN_U64;
}

static bool put_u32(void *wire, const void *ours, enum report_kind kind)
{
	uint32_t value;

	memcpy(&value, ours, sizeof(value));
	memcpy(wire, &value, sizeof(value));
	return value != 0 || kind < REPORT_COUNT || kind > REPORT_EXIT_REASON;
}

static bool is_valid(double value, const struct wire_field *f)
{
	return isfinite(value) && (value >= 0 || f->is_signed);
}

static bool put_other(void *wire, const void *ours, const struct wire_field *f)
{
	protobuf_c_boolean *out = wire;
	double value;

	if (f->kind == REPORT_BOOL) {
		*out = *(const bool *)ours;
		return true;
	}
	if (f->kind == REPORT_KNOWN_BOOL) {
		*out = *(const enum known_bool *)ours == KNOWN_TRUE;
		return *(const enum known_bool *)ours != KNOWN_NOT;
	}
	/* A number that a reader would refuse is left out alone, so that the
	 * reader takes the rest. */
	value = *(const double *)ours;
	*(double *)wire = value;
	return is_valid(value, f);
}

void wire_put_fields(void *wire, const void *ours, struct wire_table table)
{
	for (size_t i = 0; i < table.count; i++) {
		const struct wire_field *f = &table.fields[i];
		void *to = at_mutable(wire, f->wire);
		const void *from = at(ours, f->ours);

		*(protobuf_c_boolean *)at_mutable(wire, f->has) =
			is_u64(f->kind)	  ? put_u64(to, from, f->kind)
			: is_u32(f->kind) ? put_u32(to, from, f->kind)
					  : put_other(to, from, f);
	}
}

/* The value of a message that has none is the default: 0. */
static void get_u64(void *ours, const void *wire, bool has,
	enum report_kind kind)
{
	*(uint64_t *)ours = has || kind == REPORT_PLAIN_U64
		? *(const uint64_t *)wire
		: REPORT_UNKNOWN;
}

static int get_u32(void *ours, const void *wire, const struct wire_field *f,
	struct error *err)
{
	uint32_t value;

	memcpy(&value, wire, sizeof(value));
	memcpy(ours, &value, sizeof(value));
	return f->last > 0 ? wire_check_enum((int)value, f->last, f->name, err)
			   : 0;
}

static int get_other(void *ours, const void *wire, bool has,
	const struct wire_field *f, struct error *err)
{
	bool is_true = *(const protobuf_c_boolean *)wire != 0;
	double value;

	if (f->kind == REPORT_BOOL) {
		*(bool *)ours = is_true;
		return 0;
	}
	if (f->kind == REPORT_KNOWN_BOOL) {
		*(enum known_bool *)ours = !has ? KNOWN_NOT
			: is_true		? KNOWN_TRUE
						: KNOWN_FALSE;
		return 0;
	}
	value = has ? *(const double *)wire : NAN;
	if (has && !is_valid(value, f)) {
		return error_set(err, -EBADMSG, "%s is %snot finite", f->name,
			f->is_signed ? "" : "negative or ");
	}
	*(double *)ours = value;
	return 0;
}

int wire_get_fields(void *ours, const void *wire, struct wire_table table,
	struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < table.count; i++) {
		const struct wire_field *f = &table.fields[i];
		bool has = *(const protobuf_c_boolean *)at(wire, f->has);
		const void *from = at(wire, f->wire);
		void *to = at_mutable(ours, f->ours);

		if (is_u64(f->kind)) {
			get_u64(to, from, has, f->kind);
		} else if (is_u32(f->kind)) {
			r = get_u32(to, from, f, err);
		} else {
			r = get_other(to, from, has, f, err);
		}
	}
	return r;
}

void wire_get_shown(char *out, size_t size, const char *text)
{
	size_t len = text == NULL ? 0 : strnlen(text, size - 1);

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		out[i] = (char)(c < ' ' || c > '~' ? '?' : c);
	}
	out[len] = '\0';
}

int wire_get_name(char *out, size_t size, const char *text, const char *what,
	struct error *err)
{
	size_t len = text == NULL ? 0 : strlen(text);

	if (len == 0 || len >= size) {
		return error_set(err, -EBADMSG,
			"%s has %zu bytes, not 1 to %zu", what, len, size - 1);
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~') {
			return error_set(err, -EBADMSG,
				"%s holds a byte that is not printable", what);
		}
	}
	memcpy(out, text, len + 1);
	return 0;
}

int wire_get_optional_name(char *out, size_t size, const char *text,
	const char *what, struct error *err)
{
	out[0] = '\0';
	return text == NULL ? 0 : wire_get_name(out, size, text, what, err);
}

/* The first block holds nearly every message. */
enum { ARENA_BYTES = 16 << 10 };

static void *budget_alloc(void *data, size_t size)
{
	const size_t unit = sizeof(max_align_t);
	struct wire_budget *budget = data;

	if (budget->left < unit || size > budget->left - unit) {
		return NULL; /* the whole message is refused */
	}
	budget->left -= (size + unit - 1) / unit * unit;
	return arena_take(budget->arena, size);
}

static void budget_free(void *data, void *pointer)
{
	(void)data;
	(void)pointer;
}

ProtobufCAllocator *wire_budget_init(struct wire_budget *budget)
{
	*budget = (struct wire_budget){
		.allocator = { .alloc = budget_alloc,
			.free = budget_free,
			.allocator_data = budget },
		.left = WIRE_UNPACK_MAX,
		.arena = arena_new(ARENA_BYTES),
	};
	return &budget->allocator;
}

void wire_budget_fini(struct wire_budget *budget)
{
	arena_free(budget->arena);
}

void wire_append(struct buffer *out, const ProtobufCMessage *message)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	char *at = buffer_room(out, len);

	if (at != NULL) {
		(void)protobuf_c_message_pack(message, (uint8_t *)at);
		buffer_extend(out, len);
	}
}

void wire_put_varint(struct buffer *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7) {
		buffer_char(out, (char)(0x80 | (value & 0x7f)));
	}
	buffer_char(out, (char)value);
}

void wire_append_as(struct buffer *out, unsigned field,
	const ProtobufCMessage *message)
{
	wire_put_varint(out, field << 3 | WIRE_TYPE_BYTES);
	wire_put_varint(out, protobuf_c_message_get_packed_size(message));
	wire_append(out, message);
}

int wire_check_enum(int value, int last, const char *what, struct error *err)
{
	if (value < 0 || value > last) {
		return error_set(err, -EBADMSG, "%s has the unknown value %d",
			what, value);
	}
	return 0;
}

int wire_check_time(uint64_t us, const char *what, struct error *err)
{
	return us > WIRE_TIME_MAX_US
		? error_set(err, -EBADMSG, "%s is out of range", what)
		: 0;
}

static const struct wire_field hugepages_fields[] = { HUGEPAGES_FIELDS(WIRE_ROW,
	(Plimsoll__HugePages, hugepages)) };

void wire_hugepages_put(struct wire_hugepages *wire,
	const struct hugepages *ours, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		plimsoll__huge_pages__init(&wire->items[i]);
		wire_put_fields(&wire->items[i], &ours[i],
			WIRE_TABLE(hugepages_fields));
		wire->pointers[i] = &wire->items[i];
	}
}

int wire_hugepages_get(struct hugepages *ours, size_t *count,
	Plimsoll__HugePages *const *wire, size_t wire_count, struct error *err)
{
	int r = 0;

	if (wire_count > REPORT_HUGEPAGE_SIZES) {
		return error_set(err, -EBADMSG,
			"%zu sizes of huge pages are too many", wire_count);
	}
	for (size_t i = 0; r == 0 && i < wire_count; i++) {
		r = wire_get_fields(&ours[i], wire[i],
			WIRE_TABLE(hugepages_fields), err);
	}
	*count = wire_count;
	return r;
}

const char *wire_library_version(void)
{
	return protobuf_c_version();
}
