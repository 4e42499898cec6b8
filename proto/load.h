/* The load of a node as the aggregator computes it, for /v1/nodes, snapshots
 * and `score --in`.
 *
 * Structs, wire, JSON and metrics are made from the lists of figures in
 * proto/load_fields.h. An unknown figure is NAN and left out of all of them. */
#pragma once

#include "proto/load_fields.h"
#include "proto/report.h"

struct vm_load {
	char pod_uid[REPORT_UID_MAX];
	char *namespace; /* in the node's `names`; NULL while unknown */
	char *name;	 /* of the VM; in the node's `names`, or NULL */
#define X(field, ...) double field;
	VM_LOAD_FIELDS(X)
#undef X
};

enum { LOAD_KVM_DETAIL_MAX = 80 };

struct node_load {
	char *name;	 /* owned */
	uint64_t age_us; /* of the newest sample, when this was made */
	uint32_t interval_ms;
	enum kvm_state kvm_state;
	char kvm_detail[LOAD_KVM_DETAIL_MAX];
	struct hugepages hugepages[REPORT_HUGEPAGE_SIZES];
	size_t hugepages_count;
	struct vm_load *vms; /* owned */
	size_t vm_count;
	char *names; /* owned; the texts that the VMs point to */
#define X(group, field, ...) double group##_##field;
	LOAD_FIELDS(X)
#undef X
};

/* The bytes in pages of this size that are free and not reserved, at most
 * 2^62. False: not known; *out is then untouched. Without `reserved`, all free
 * pages count. */
bool load_free_hugepages(int64_t *out, const struct node_load *load,
	uint64_t page_bytes);

struct load_field {
	const char *group;
	const char *name;
	size_t offset; /* of the double in struct node_load */
};

/* All of LOAD_FIELDS in order; load_field_count of them. */
extern const struct load_field load_fields[];
extern const size_t load_field_count;

double *load_field_of(struct node_load *load, const struct load_field *field);

enum load_state { LOAD_FRESH, LOAD_STALE, LOAD_LOST };

/* stale: older than max(15 s, 3 intervals); lost: older than 5 min. */
enum load_state load_state(uint64_t age_us, uint32_t interval_ms);
const char *load_state_name(enum load_state state);

void node_load_init(struct node_load *load); /* all figures unknown */
void node_load_fini(struct node_load *load); /* NULL and zeroed are fine */
void node_load_copy(struct node_load *out, const struct node_load *from);

struct vm_name {
	const char *namespace; /* NULL: unknown, as name */
	const char *name;
};

/* Copies the names of all VMs, in order. Call it once. */
void node_load_name_vms(struct node_load *load, const struct vm_name *names);
void vm_load_init(struct vm_load *vm);

/* ---- on the wire, as in proto/wire.h ---- */

struct snapshot_request {
	uint64_t epoch, rev;
};

struct snapshot {
	uint64_t epoch, rev;
	bool full;		 /* forget nodes of earlier snapshots */
	struct node_load *nodes; /* owned */
	size_t count;
};
void snapshot_fini(struct snapshot *snapshot); /* NULL, zeroed are fine */
