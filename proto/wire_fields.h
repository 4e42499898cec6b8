/* Packing and unpacking of fields that have the same name on the wire and in
 * our structs. One table serves both directions. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "proto/load.h"
#include "proto/report.h"
#include "proto/wire.h"

#include <plimsoll.pb-c.h>

struct wire_field {
	size_t has, wire, ours; /* offsets */
	enum report_kind kind;
	int last; /* of an enum */
	const char *name;
	bool is_signed; /* a double that may be negative */
};

/* The field `name` of the generated struct `pb` and of `struct ours`; kind is
 * one of enum report_kind without its prefix. */
#define WIRE_FIELD(pb, ours, kind, name) WIRE_FIELD_OF(pb, ours, kind, name)
#define WIRE_FIELD_OF(pb, ours, kind, name)                                    \
	{                                                                      \
		offsetof(pb, has_##name), offsetof(pb, name),                  \
			offsetof(struct ours, name), REPORT_##kind,            \
			(int)REPORT_MOST(kind), #ours "." #name, false         \
	}

#define WIRE_SIGNED_FIELD(pb, ours, name)                                      \
	{                                                                      \
		offsetof(pb, has_##name), offsetof(pb, name),                  \
			offsetof(struct ours, name), REPORT_DOUBLE, 0,         \
			#ours "." #name, true                                  \
	}

/* A row of proto/report_fields.h, whose list is given of = (pb, ours). */
#define WIRE_ROW(of, kind, name, ...)                                          \
	WIRE_FIELD(WIRE_PB of, WIRE_OURS of, kind, name),
#define WIRE_PB(pb, ours) pb
#define WIRE_OURS(pb, ours) ours

struct wire_table {
	const struct wire_field *fields;
	size_t count;
};

#define WIRE_TABLE(fields)                                                     \
	(struct wire_table)                                                    \
	{                                                                      \
		(fields), sizeof(fields) / sizeof((fields)[0])                 \
	}

/* A value that its kind calls absent is not sent. */
void wire_put_fields(void *wire, const void *ours, struct wire_table table);

/* -EBADMSG names the field: the value of an enum is unknown, or a number is
 * not finite, or negative without is_signed. */
must_check int wire_get_fields(void *ours, const void *wire,
	struct wire_table table, struct error *err);

/* -EBADMSG: a time that is above WIRE_TIME_MAX_US. */
must_check int wire_check_time(uint64_t us, const char *what,
	struct error *err);

/* Copies a text of 1 to size - 1 printable ASCII bytes without blanks, so that
 * it is safe in logs, URLs and JSON. -EBADMSG names `what`. */
must_check int wire_get_name(char *out, size_t size, const char *text,
	const char *what, struct error *err);

/* The same for a text that may be absent, which gives "". */
must_check int wire_get_optional_name(char *out, size_t size, const char *text,
	const char *what, struct error *err);

/* Unpacking can turn two bytes into a struct of two hundred, so the memory of
 * each message is bounded by a budget, and released as a whole: a report with
 * 30 VM pods has some 130 structs. */
enum { WIRE_UNPACK_MAX = 64 << 20 };

struct wire_budget {
	ProtobufCAllocator allocator;
	size_t left;
	struct arena *arena;
};

/* The allocator for an unpack function. wire_budget_fini() releases the
 * unpacked message, which is not to be freed by itself. */
ProtobufCAllocator *wire_budget_init(struct wire_budget *budget);
void wire_budget_fini(struct wire_budget *budget);

/* Appends the packed message to out. */
void wire_append(struct buffer *out, const ProtobufCMessage *message);

/* Appends a request or reply whose one field, of this number below 16, is the
 * message. */
void wire_append_as(struct buffer *out, unsigned field,
	const ProtobufCMessage *message);

enum { WIRE_TYPE_BYTES = 2 }; /* of a field: a text, bytes or a message */
void wire_put_varint(struct buffer *out, uint64_t value);

/* -EBADMSG: `value` is none of 0 .. last. */
must_check int wire_check_enum(int value, int last, const char *what,
	struct error *err);

/* ---- for the files of the wire alone ---- */

/* -EBADMSG. On failure *out needs no release. */
must_check int wire_report_unpack(struct report *out,
	const struct packed_report *packed, ProtobufCAllocator *allocator,
	struct error *err);

/* HugePages are in reports and in loads. */
struct wire_hugepages {
	Plimsoll__HugePages items[REPORT_HUGEPAGE_SIZES];
	Plimsoll__HugePages *pointers[REPORT_HUGEPAGE_SIZES];
};
void wire_hugepages_put(struct wire_hugepages *wire,
	const struct hugepages *ours, size_t count);
must_check int wire_hugepages_get(struct hugepages *ours, size_t *count,
	Plimsoll__HugePages *const *wire, size_t wire_count, struct error *err);

/* For texts that are shown and never used as keys: replaces unprintable bytes
 * by '?' and cuts the text to fit. text may be NULL. */
void wire_get_shown(char *out, size_t size, const char *text);

/* -EBADMSG. On failure *out needs no release. */
must_check int wire_decisions_from(struct decision_batch *out,
	const Plimsoll__DecisionBatch *wire, struct error *err);

/* -EBADMSG. On failure *out needs no release. */
must_check int wire_moves_from(struct move_batch *out,
	const Plimsoll__MoveBatch *wire, struct error *err);
must_check int wire_moves_request_from(struct moves_request *out,
	const Plimsoll__MovesRequest *wire, struct error *err);
must_check int wire_move_list_from(struct move_list *out,
	const Plimsoll__MoveList *wire, struct error *err);

/* -EBADMSG. */
must_check int wire_profile_request_from(struct profile_request *out,
	const Plimsoll__ProfileRequest *wire, struct error *err);
must_check int wire_profile_from(struct vm_profile *out,
	const Plimsoll__ProfileReply *wire, struct error *err);

/* -EBADMSG. On failure *out needs no release. */
must_check int wire_question_request_from(struct question_request *out,
	const Plimsoll__QuestionRequest *wire, struct error *err);
must_check int wire_question_from(struct question *out,
	const Plimsoll__Question *wire, struct error *err);
must_check int wire_answer_from(struct answer_part *out,
	const Plimsoll__Answer *wire, struct error *err);

/* -EBADMSG. On failure *out needs no release. */
must_check int wire_snapshot_from(struct snapshot *out,
	const Plimsoll__Snapshot *wire, struct error *err);
