/* The memory, the I/O and KVM of one node: since when each is in trouble.
 *
 * Every load of the node is noted. A trouble counts once it was in every load
 * of a minute; a load without it ends it. A gap up to the age at which loads
 * are stale changes nothing, a longer one starts the minute again. While the
 * node is in trouble, the watch keeps the figures of its VMs, and otherwise
 * nothing: 1,000 nodes cost 200 KiB. Pure. docs/scoring.md explains the
 * constants. */
#pragma once

#include "proto/load.h"
#include "proto/move.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A trouble must last this long; that of KVM, which is probed every 30 s, twice
 * as long. */
#define PRESSURE_SUSTAINED_US INT64_C(60000000)
#define PRESSURE_KVM_US (2 * PRESSURE_SUSTAINED_US)

/* Shares of the last minute in which all tasks waited at once. */
#define PRESSURE_MEMORY_FULL 0.10
#define PRESSURE_IO_FULL 0.40

/* Bytes a second that the node reads back from swap. At 0.1 ms a page, the
 * tasks wait 10 % of the time, as above. */
#define PRESSURE_SWAP_IN_BYTES (4.0 * (1 << 20))

/* With this share of memory available the node is not short: tasks then wait
 * in the limits of their own cgroups, or a shortage is over. */
#define PRESSURE_AMPLE 0.25

/* A VM that waits less does not compete. */
#define PRESSURE_VM_WAITS 0.05

/* A VM of a node in trouble. Not known: NAN; shares of time that are absent are
 * 0. */
struct pressure_vm {
	char pod_uid[REPORT_UID_MAX];
	double memory_bytes, swap_bytes;
	double memory_pressure, io_pressure;
};

/* Zeroed: no load was noted. */
struct pressure_watch {
	/* By enum move_reason; MOVE_FOR_CPU is never present. */
	bool is_present[MOVE_REASONS];
	int64_t since_us[MOVE_REASONS]; /* where present */
	int64_t sample_us;		/* of the newest load */
	int64_t stale_us;		/* an older load is stale */
	/* The figures of the newest load; NAN: unknown. */
	double total_bytes, available_bytes;
	double memory_full, swap_in_bytes, io_full;
	enum kvm_state kvm_state;
	char kvm_detail[LOAD_KVM_DETAIL_MAX];
	struct pressure_vm *vms; /* owned, by uid; none without trouble */
	size_t vm_count;
};

void pressure_watch_fini(struct pressure_watch *watch);

/* Notes a load; it is borrowed for the call. sample_us: the time of its sample,
 * on the clock of the caller's now_us. An older load than the newest one is
 * ignored. */
void pressure_watch_note(struct pressure_watch *watch,
	const struct node_load *load, int64_t sample_us);

/* The minutes of all troubles start again: a move away from this node was
 * ordered or ended, and has to show its effect first. */
void pressure_watch_restart(struct pressure_watch *watch, int64_t now_us);

/* The trouble has lasted for a minute, and the newest load is not stale. */
bool pressure_watch_is_sustained(const struct pressure_watch *watch,
	enum move_reason reason, int64_t now_us);

/* Some trouble is present, however new. */
bool pressure_watch_is_troubled(const struct pressure_watch *watch);

/* How grave the trouble is: 1 at the limit, more above. */
double pressure_watch_severity(const struct pressure_watch *watch,
	enum move_reason reason);

/* The available memory below which a node of that size is short: 2 %, at least
 * 512 MiB, at most 10 %. kubelet evicts pods at 100 MiB. */
double pressure_floor_bytes(double total_bytes);

/* The available memory that a node should keep: 5 % above the floor. */
double pressure_goal_bytes(double total_bytes);

/* NULL: the last load did not list the pod, or the node is not in trouble. */
const struct pressure_vm *pressure_watch_find(
	const struct pressure_watch *watch, const char *pod_uid);

enum { PRESSURE_TEXT_MAX = 160 };

/* The figure in words: "memory: in 12 % of the last minute all tasks waited for
 * memory". The reason is one that is present. */
void pressure_watch_text(char out[PRESSURE_TEXT_MAX],
	const struct pressure_watch *watch, enum move_reason reason);
