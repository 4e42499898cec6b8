/* Fields that have the same name on the wire and in our structs, by tables:
 * one list serves packing and unpacking, so the two cannot drift apart. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "proto/load.h"
#include "proto/report.h"
#include "proto/wire.h"

#include <plimsoll.pb-c.h>

struct wire_field {
	size_t has, wire, ours; /* offsets */
	const char *name;
};

/* The field `name` of the generated struct `pb` and of `struct ours`. */
#define WIRE_FIELD(pb, ours, name)                                             \
	{                                                                      \
		offsetof(pb, has_##name), offsetof(pb, name),                  \
			offsetof(struct ours, name), #name                     \
	}

struct wire_table {
	const struct wire_field *fields;
	size_t count;
};

#define WIRE_TABLE(fields)                                                     \
	(struct wire_table)                                                    \
	{                                                                      \
		(fields), sizeof(fields) / sizeof((fields)[0])                 \
	}

/* uint64_t; REPORT_UNKNOWN travels as absence. */
void wire_put_integers(void *wire, const void *ours, struct wire_table table);
void wire_get_integers(void *ours, const void *wire, struct wire_table table);

/* double; what is not finite or negative travels as absence, and is refused
 * where it comes in: -EBADMSG. */
void wire_put_doubles(void *wire, const void *ours, struct wire_table table);
must_check int wire_get_doubles(void *ours, const void *wire,
	struct wire_table table, struct error *err);

/* Copies a text of 1 to size - 1 printable ASCII bytes without blanks, so that
 * it is safe in logs, URLs and JSON. -EBADMSG names `what`. */
must_check int wire_get_name(char *out, size_t size, const char *text,
	const char *what, struct error *err);

/* Unpacking turns two bytes into a struct of two hundred, so what it may
 * allocate is bounded, too: all of a message comes from one budget. It is cut
 * from a few blocks and released as a whole, not struct by struct: a report
 * with 30 VM pods has some 130 of them. */
enum { WIRE_UNPACK_MAX = 64 << 20 };

struct wire_budget {
	ProtobufCAllocator allocator;
	size_t left;
	struct wire_block *blocks; /* the newest first */
};

/* The allocator to hand to an unpack function. What that gives is not to be
 * freed by itself; wire_budget_fini() does it. */
ProtobufCAllocator *wire_budget_init(struct wire_budget *budget);
void wire_budget_fini(struct wire_budget *budget);

/* The packed message at the end of out. */
void wire_append(struct buffer *out, const ProtobufCMessage *message);

/* -EBADMSG: `value` is none of 0 .. last. */
must_check int wire_check_enum(int value, int last, const char *what,
	struct error *err);

/* ---- between the wire's own files ---- */

/* -EBADMSG. On failure *out needs no release. */
must_check int wire_report_unpack(struct report *out,
	const struct packed_report *packed, ProtobufCAllocator *allocator,
	struct error *err);

/* HugePages stand in reports and in loads. */
struct wire_hugepages {
	Plimsoll__HugePages items[REPORT_HUGEPAGE_SIZES];
	Plimsoll__HugePages *pointers[REPORT_HUGEPAGE_SIZES];
};
void wire_hugepages_put(struct wire_hugepages *wire,
	const struct hugepages *ours, size_t count);
must_check int wire_hugepages_get(struct hugepages *ours, size_t *count,
	Plimsoll__HugePages *const *wire, size_t wire_count, struct error *err);

/* For texts that are shown and never used as keys: any bytes, made printable,
 * cut to fit. text may be NULL. */
void wire_get_shown(char *out, size_t size, const char *text);

/* -EBADMSG. On failure *out needs no release. */
must_check int wire_decisions_from(struct decision_batch *out,
	const Plimsoll__DecisionBatch *wire, struct error *err);

/* -EBADMSG. */
must_check int wire_profile_request_from(struct profile_request *out,
	const Plimsoll__ProfileRequest *wire, struct error *err);
must_check int wire_profile_from(struct vm_past *out,
	const Plimsoll__ProfileReply *wire, struct error *err);

/* The snapshot message inside a Reply. */
void wire_snapshot_append(struct buffer *out, const struct snapshot *snapshot);
must_check int wire_snapshot_from(struct snapshot *out,
	const Plimsoll__Snapshot *wire, struct error *err);
