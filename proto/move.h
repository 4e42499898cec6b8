/* The record of one move of a running VM: recommended, ordered, and what came
 * of it. Schedulers make records, aggregators store them and serve them to
 * people and to the next leader.
 *
 * A record is sent again whenever it changes. The highest revision of an id
 * counts. */
#pragma once

#include "proto/decision.h"
#include "proto/report.h"

#include <stdint.h>

enum {
	WIRE_MOVES_MAX = 64, /* per message */
	MOVE_ID_MAX = 37,    /* a UUID with its NUL */
	MOVE_FAILURE_MAX = 400,
};

enum move_state {
	MOVE_RECOMMENDED, /* nothing was ordered */
	/* A recommendation that no longer holds; or an order that KubeVirt
	 * refused or somebody else ended. The failure then says so. */
	MOVE_WITHDRAWN,
	MOVE_ORDERED, /* the migration object exists, or is being made */
	MOVE_RUNNING, /* KubeVirt copies the VM */
	MOVE_SUCCEEDED,
	MOVE_FAILED, /* also: cancelled, timed out */
	MOVE_STATES,
};

/* Why the VM should leave its source: the first ones name what is short. */
enum move_reason {
	MOVE_FOR_CPU,
	MOVE_FOR_MEMORY,
	MOVE_FOR_IO,
	MOVE_FOR_KVM,
	MOVE_FOR_ROOM, /* another VM needs the source: room_for */
	/* The VM may not stand there: scheduler/filter/standing.h. */
	MOVE_FOR_PLACEMENT,
	MOVE_REASONS,
};

/* X(field): doubles of struct move_record; NAN: not known (yet). Shortages are
 * core-steps of 5 minutes within an hour; loads are shares of the node's
 * cores: expected ones of the decision, and measured 5-minute means. */
#define MOVE_FIGURES(X)                                                        \
	X(gain)                                                                \
	X(price)                                                               \
	X(source_shortage_before)                                              \
	X(source_shortage_after)                                               \
	X(target_shortage_before)                                              \
	X(target_shortage_after)                                               \
	X(source_load_before)                                                  \
	X(source_load_after)                                                   \
	X(target_load_before)                                                  \
	X(target_load_after)                                                   \
	X(measured_source_before)                                              \
	X(measured_target_before)                                              \
	X(measured_source_3m)                                                  \
	X(measured_target_3m)                                                  \
	X(measured_source_60m)                                                 \
	X(measured_target_60m)                                                 \
	X(copy_s)                                                              \
	X(memory_bytes)

struct move_record {
	char id[MOVE_ID_MAX];
	uint32_t revision; /* from 1 */
	/* vmi_uid, target and migration may be "". */
	char namespace[DECISION_NAME_MAX];
	char vm[DECISION_NAME_MAX]; /* of the VMI */
	char vmi_uid[REPORT_UID_MAX];
	char source[REPORT_NODE_MAX], target[REPORT_NODE_MAX];
	enum move_state state;
	enum move_reason reason;
	/* The pod for which MOVE_FOR_ROOM makes room, "namespace/name", never
	 * "" then, and its uid; else "". On the wire room_for alone tells this
	 * reason: see plimsoll.proto. */
	char room_for[2 * DECISION_NAME_MAX];
	char room_for_uid[REPORT_UID_MAX];
	/* The launcher pod names another scheduler: recommended only. */
	bool is_other_scheduler;
	bool is_automatic;		   /* ordered by the mover */
	uint64_t wall_us;		   /* first recommended */
	uint64_t ordered_us, ended_us;	   /* wall clock; 0: not yet */
	char migration[DECISION_NAME_MAX]; /* the VMIM's name; "": none */
	char failure[MOVE_FAILURE_MAX];	   /* in words; "": none */
	char sentence[DECISION_SENTENCE_MAX];
#define X(field) double field;
	MOVE_FIGURES(X)
#undef X
};

const char *move_state_name(enum move_state state);    /* "succeeded" */
const char *move_reason_name(enum move_reason reason); /* "memory" */

/* True: *out is the state of that name. */
bool move_state_parse(enum move_state *out, const char *name);

/* When the record changed last, by its own times. */
uint64_t move_changed_us(const struct move_record *move);

/* ---- on the wire, as in proto/wire.h ---- */

struct move_batch {
	struct move_record *records; /* owned */
	size_t count;
};

/* Requests the moves that changed at since_us or later, in an order that a new
 * revision does not change, from the first after `after` on. */
struct moves_request {
	uint64_t since_us;
	uint64_t after; /* the last list's next; 0: from the beginning */
};

struct move_list {
	struct move_record *records; /* owned; borrowed for packing */
	size_t count;
	uint64_t next; /* 0: the end */
};

void wire_pack_moves(struct buffer *out, const struct packed_record *moves,
	size_t count);
void wire_pack_moves_request(struct buffer *out,
	const struct moves_request *request);
void wire_pack_move_list(struct buffer *out, const struct move_list *list);

/* A single move, as the store keeps it. */
void wire_pack_move(struct buffer *out, const struct move_record *move);
must_check int wire_unpack_move(struct move_record *out, const uint8_t *bytes,
	size_t len, struct error *err);
