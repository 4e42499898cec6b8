#include "proto/wire_fields.h"

#include "lib/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const void *at(const void *base, size_t offset)
{
	return (const char *)base + offset;
}

static void *at_mutable(void *base, size_t offset)
{
	return (char *)base + offset;
}

void wire_put_integers(void *wire, const void *ours, struct wire_table table)
{
	for (size_t i = 0; i < table.count; i++) {
		const struct wire_field *f = &table.fields[i];
		uint64_t value = *(const uint64_t *)at(ours, f->ours);

		*(protobuf_c_boolean *)at_mutable(wire, f->has) =
			value != REPORT_UNKNOWN;
		*(uint64_t *)at_mutable(wire, f->wire) = value;
	}
}

void wire_get_integers(void *ours, const void *wire, struct wire_table table)
{
	for (size_t i = 0; i < table.count; i++) {
		const struct wire_field *f = &table.fields[i];
		bool has = *(const protobuf_c_boolean *)at(wire, f->has);

		*(uint64_t *)at_mutable(ours, f->ours) = has
			? *(const uint64_t *)at(wire, f->wire)
			: REPORT_UNKNOWN;
	}
}

void wire_put_doubles(void *wire, const void *ours, struct wire_table table)
{
	for (size_t i = 0; i < table.count; i++) {
		const struct wire_field *f = &table.fields[i];
		double value = *(const double *)at(ours, f->ours);

		/* What a reader would refuse is not known, and spoils no more
		 * than itself. */
		*(protobuf_c_boolean *)at_mutable(wire, f->has) =
			isfinite(value) && value >= 0;
		*(double *)at_mutable(wire, f->wire) = value;
	}
}

int wire_get_doubles(void *ours, const void *wire, struct wire_table table,
	struct error *err)
{
	for (size_t i = 0; i < table.count; i++) {
		const struct wire_field *f = &table.fields[i];
		bool has = *(const protobuf_c_boolean *)at(wire, f->has);
		double value = *(const double *)at(wire, f->wire);

		if (has && (!isfinite(value) || value < 0)) {
			return error_set(err, -EBADMSG,
				"%s is not a finite positive number", f->name);
		}
		*(double *)at_mutable(ours, f->ours) = has ? value : NAN;
	}
	return 0;
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

/* Memory that is handed out from its beginning; who gets it writes all of it,
 * as protobuf-c does where malloc() is its allocator. */
struct wire_block {
	struct wire_block *older;
	size_t used, size;
	max_align_t bytes[];
};

enum { BLOCK_BYTES = 16 << 10 };

static struct wire_block *block_new(struct wire_block *older, size_t least)
{
	size_t size = least > BLOCK_BYTES ? least : BLOCK_BYTES;
	struct wire_block *block =
		xrealloc(NULL, 1, offsetof(struct wire_block, bytes) + size);

	*block = (struct wire_block){ .older = older, .size = size };
	return block;
}

static void *budget_alloc(void *data, size_t size)
{
	const size_t unit = sizeof(max_align_t);
	struct wire_budget *budget = data;
	struct wire_block *block = budget->blocks;
	char *at;

	if (budget->left < unit || size > budget->left - unit) {
		return NULL; /* the message is refused as a whole */
	}
	size = (size + unit - 1) / unit * unit;
	budget->left -= size;
	if (block == NULL || block->size - block->used < size) {
		block = block_new(block, size);
		budget->blocks = block;
	}
	at = (char *)block->bytes + block->used;
	block->used += size;
	return at;
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
	};
	return &budget->allocator;
}

void wire_budget_fini(struct wire_budget *budget)
{
	while (budget->blocks != NULL) {
		struct wire_block *block = budget->blocks;

		budget->blocks = block->older;
		free(block);
	}
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

int wire_check_enum(int value, int last, const char *what, struct error *err)
{
	if (value < 0 || value > last) {
		return error_set(err, -EBADMSG, "%s has the unknown value %d",
			what, value);
	}
	return 0;
}

static const struct wire_field hugepage_fields[] = {
	WIRE_FIELD(Plimsoll__HugePages, hugepages, size_bytes),
	WIRE_FIELD(Plimsoll__HugePages, hugepages, total),
	WIRE_FIELD(Plimsoll__HugePages, hugepages, free),
	WIRE_FIELD(Plimsoll__HugePages, hugepages, reserved),
};

void wire_hugepages_put(struct wire_hugepages *wire,
	const struct hugepages *ours, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		plimsoll__huge_pages__init(&wire->items[i]);
		wire_put_integers(&wire->items[i], &ours[i],
			WIRE_TABLE(hugepage_fields));
		wire->pointers[i] = &wire->items[i];
	}
}

int wire_hugepages_get(struct hugepages *ours, size_t *count,
	Plimsoll__HugePages *const *wire, size_t wire_count, struct error *err)
{
	if (wire_count > REPORT_HUGEPAGE_SIZES) {
		return error_set(err, -EBADMSG, "%zu sizes of huge pages",
			wire_count);
	}
	for (size_t i = 0; i < wire_count; i++) {
		wire_get_integers(&ours[i], wire[i],
			WIRE_TABLE(hugepage_fields));
	}
	*count = wire_count;
	return 0;
}
