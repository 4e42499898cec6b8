/* Packing and unpacking of the messages of plimsoll.proto. No other room uses
 * protobuf-c. Unpacking refuses broken bytes, missing identities, impossible
 * numbers and lists that are too long with -EBADMSG and a sentence that may be
 * sent to the peer. Unknown fields are skipped. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "proto/decision.h"
#include "proto/load.h"
#include "proto/move.h"
#include "proto/profile.h"
#include "proto/question.h"

enum {
	WIRE_REPORTS_MAX = 1024, /* per batch */
	WIRE_NODES_MAX = 16384,	 /* per snapshot */
	WIRE_TOKEN_MAX = 16384,	 /* bytes of a ServiceAccount token */
};

/* The greatest time or age on the wire, 36,000 years: sums and differences of
 * two do not overflow. */
#define WIRE_TIME_MAX_US (UINT64_C(1) << 60)

enum hello_role { HELLO_AGENT, HELLO_SCHEDULER };

struct hello {
	enum hello_role role;
	char node[REPORT_NODE_MAX];
	char version[64];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	/* NULL: none. Owned after unpacking, where it is at most
	 * WIRE_TOKEN_MAX bytes; borrowed for packing. */
	char *token;
};

/* A report as wire_pack_report() packed it, which is how it is stored. */
struct packed_report {
	const uint8_t *bytes;
	size_t len;
};

struct batch {
	char node[REPORT_NODE_MAX];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	uint64_t sent_monotonic_us;
	uint64_t certificate_expiry_s; /* since 1970; 0: not known */
	struct report *reports;	       /* owned */
	struct packed_report *packed;  /* owned: the same, as received */
	size_t count;
};

/* A batch to pack; everything is borrowed. */
struct batch_out {
	const char *node;
	const uint8_t *run_id; /* REPORT_RUN_ID_BYTES */
	uint64_t sent_monotonic_us;
	const struct packed_report *reports;
	size_t count;
	uint64_t certificate_expiry_s; /* since 1970; 0: without */
};

enum wire_request_kind {
	WIRE_HELLO,
	WIRE_BATCH,
	WIRE_SNAPSHOT_REQUEST,
	WIRE_DECISIONS, /* answered by an ack */
	WIRE_PROFILE_REQUEST,
	WIRE_MOVES, /* answered by an ack */
	WIRE_MOVES_REQUEST,
	WIRE_QUESTION_REQUEST,
	WIRE_ANSWER,
};

struct wire_request {
	enum wire_request_kind kind;
	union {
		struct hello hello;
		struct batch batch;
		struct snapshot_request snapshot;
		struct decision_batch decisions;
		struct profile_request profile;
		struct move_batch moves;
		struct moves_request moves_request;
		struct question_request question_request;
		struct answer_part answer;
	};
};

struct ack {
	bool stored;		   /* else only received */
	bool need_hello;	   /* nothing was accepted */
	uint32_t interval_hint_ms; /* 0: none */
	bool is_failing;	   /* received, and writes to the disk fail */
};

enum wire_reply_kind {
	WIRE_WELCOME,
	WIRE_ACK,
	WIRE_SNAPSHOT,
	WIRE_REFUSED,
	WIRE_PROFILE,
	WIRE_MOVE_LIST,
	WIRE_QUESTION,
	WIRE_ANSWER_ACK,
};

struct wire_reply {
	enum wire_reply_kind kind;
	uint32_t retry_ms; /* of WIRE_REFUSED; 0: not said */
	union {
		char welcome_version[64];
		struct ack ack;
		struct snapshot snapshot;
		char refused[256]; /* the reason */
		struct vm_profile profile;
		struct move_list moves;
		struct question question;
		struct answer_ack answer_ack;
	};
};

/* -EBADMSG, with the reason. The _fini() release the results. */
must_check int wire_unpack_request(struct wire_request *out,
	const uint8_t *bytes, size_t len, struct error *err);
void wire_request_fini(struct wire_request *request);
must_check int wire_unpack_reply(struct wire_reply *out, const uint8_t *bytes,
	size_t len, struct error *err);
void wire_reply_fini(struct wire_reply *reply);

/* These append to out. If a message does not fit, out->overflowed is set. */
void wire_pack_hello(struct buffer *out, const struct hello *hello);
void wire_pack_batch(struct buffer *out, const struct batch_out *batch);
void wire_pack_snapshot_request(struct buffer *out,
	const struct snapshot_request *request);
void wire_pack_welcome(struct buffer *out, const char *version);
void wire_pack_ack(struct buffer *out, const struct ack *ack);
void wire_pack_snapshot(struct buffer *out, const struct snapshot *snapshot);
size_t wire_node_load_bytes(const struct node_load *load); /* at most */
void wire_pack_refused(struct buffer *out, const char *reason,
	uint32_t retry_ms);

/* A single report, as the store keeps it. The same checks. */
void wire_pack_report(struct buffer *out, const struct report *report);
must_check int wire_unpack_report(struct report *out, const uint8_t *bytes,
	size_t len, struct error *err);

/* Bytes that a packed report or another field of len bytes adds to a batch. */
size_t wire_batched_size(size_t len);

/* The version of protobuf-c that the program runs with. */
const char *wire_library_version(void);
