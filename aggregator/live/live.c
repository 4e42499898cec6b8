#include "aggregator/live/live.h"

#include "aggregator/live/claims.h"
#include "aggregator/live/identity.h"
#include "aggregator/live/pod_refs.h"
#include "aggregator/series/node_windows.h"
#include "aggregator/series/pod_series.h"
#include "aggregator/series/rates.h"
#include "lib/clock.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <uv.h>

struct live_node {
	struct claim claim; /* first: live_node and claim convert */
	const struct live *live;
	char *name;
	uint64_t revision;
	TAILQ_ENTRY(live_node) link;
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	struct report newest;
	int64_t at_us; /* of newest, on this machine's clock */
	struct node_rates rates;
	struct pod_series series;
	struct pod_refs pods; /* of newest */
	struct node_windows windows;
	/* The windows are complete for this run from here to the newest
	 * sample; a backlog may fill the time before. */
	uint64_t covered_from_us;
	struct report backlog; /* the last one added, without VMs */
	uint64_t certificate_expiry_s;
};

TAILQ_HEAD(node_list, live_node);

struct live {
	uint64_t epoch, revision;
	struct map by_name;
	struct claims claims;	       /* to nodes' names */
	struct node_list nodes;	       /* by revision */
	struct identities *identities; /* or NULL */
};

uint64_t live_epoch_new(void)
{
	uint64_t epoch = 0;

	if (uv_random(NULL, NULL, &epoch, sizeof(epoch), 0, NULL) != 0) {
		epoch = clock_wall_us();
	}
	epoch &= (UINT64_C(1) << 53) - 1;
	return epoch == 0 ? 1 : epoch;
}

struct live *live_new(uint64_t epoch, struct identities *identities)
{
	struct live *live = xcalloc(1, sizeof(*live));

	live->epoch = epoch;
	live->identities = identities;
	TAILQ_INIT(&live->nodes);
	return live;
}

static void node_free(struct live_node *node)
{
	pod_refs_fini(&node->pods, node->live->identities, &node->newest);
	report_fini(&node->newest);
	report_fini(&node->backlog);
	pod_series_fini(&node->series);
	node_windows_fini(&node->windows);
	free(node->name);
	free(node);
}

static void remove_node(struct live *live, struct live_node *node)
{
	(void)map_remove(&live->by_name, node->name);
	claims_drop(&node->claim);
	TAILQ_REMOVE(&live->nodes, node, link);
	node_free(node);
}

void live_free(struct live *live)
{
	if (live == NULL) {
		return;
	}
	while (!TAILQ_EMPTY(&live->nodes)) {
		remove_node(live, TAILQ_FIRST(&live->nodes));
	}
	map_fini(&live->by_name);
	free(live);
}

static struct live_node *node_new(const struct live *live, const char *name)
{
	struct live_node *node = xcalloc(1, sizeof(*node));

	node->live = live;
	node->name = xstrdup(name);
	report_init(&node->newest);
	report_init(&node->backlog);
	node_windows_init(&node->windows);
	return node;
}

/* For a node that is not in the list. */
static void append_with_new_revision(struct live *live, struct live_node *node)
{
	node->revision = ++live->revision;
	TAILQ_INSERT_TAIL(&live->nodes, node, link);
}

uint64_t live_node_age_us(const struct live_node *node, uint64_t now_us)
{
	int64_t age = (int64_t)now_us - node->at_us;

	return age > 0 ? (uint64_t)age : 0;
}

enum load_state live_node_state(const struct live_node *node, uint64_t now_us)
{
	return load_state(live_node_age_us(node, now_us),
		node->newest.interval_ms);
}

/* Makes room for a new node of the peer. */
static int make_room(struct live *live, uint64_t peer, uint64_t now_us,
	struct error *err)
{
	struct live_node *last = TAILQ_FIRST(&live->nodes);
	struct claim *weakest;

	if (live->by_name.count < LIVE_NODES_MAX) {
		return 0;
	}
	weakest = claims_weakest(&live->claims, peer);
	if (weakest != NULL) {
		last = (struct live_node *)weakest;
	} else if (live_node_state(last, now_us) != LOAD_LOST) {
		return error_set(err, -ENOSPC,
			"the aggregator has the maximum of %d nodes already",
			LIVE_NODES_MAX);
	}
	remove_node(live, last);
	return 0;
}

static bool same_run(const struct live_node *node,
	const struct live_sample *sample)
{
	return memcmp(node->run_id, sample->run_id, REPORT_RUN_ID_BYTES) == 0;
}

static bool same_boot(const struct live_node *node,
	const struct live_sample *sample)
{
	return strcmp(node->newest.boot_id, sample->report->boot_id) == 0;
}

/* The agent's clock orders the reports of one process, without the network's
 * delays. Across processes this machine's clock does, so that an agent's clock
 * that ran ahead has no effect after its process ends. */
static bool is_newer(const struct live_node *node,
	const struct live_sample *sample)
{
	if (same_boot(node, sample) && same_run(node, sample)) {
		return sample->report->monotonic_us > node->newest.monotonic_us;
	}
	return sample->at_us > node->at_us;
}

/* Takes the report. */
static void set_newest(struct live_node *node, const struct live_sample *sample,
	struct report *report)
{
	report_fini(&node->newest);
	node->newest = *report;
	memcpy(node->run_id, sample->run_id, REPORT_RUN_ID_BYTES);
	node->at_us = sample->at_us;
}

static void clear_vms(struct report *report)
{
	report->vms = NULL;
	report->vm_count = 0;
}

/* True: the time between the reports is not known, and may be filled later. */
static bool is_gap(const struct report *before, const struct report *after)
{
	uint32_t interval_ms = before->interval_ms > after->interval_ms
		? before->interval_ms
		: after->interval_ms;

	return load_state(rates_span_us(before, after), interval_ms) !=
		LOAD_FRESH;
}

/* The windows are complete from `after` on. A backlog continues after `before`,
 * the end of what they had, or starts with its own first report. */
static void begin_coverage(struct live_node *node, const struct report *before,
	const struct report *after)
{
	node->covered_from_us = after->monotonic_us;
	node->backlog = *before;
	clear_vms(&node->backlog);
}

/* A sample of another boot, or after a gap, has no rates. */
static void add_newest(struct live_node *node, const struct live_sample *sample)
{
	const struct report *after = sample->report;
	const struct report *before = &node->newest;
	bool is_boot_continued = node->revision > 0 &&
		same_boot(node, sample) &&
		after->monotonic_us > before->monotonic_us;
	bool is_run_continued = is_boot_continued &&
		(same_run(node, sample) || rates_cross_runs(before, after));
	bool is_continued = is_run_continued && !is_gap(before, after);
	struct report nothing, kept;
	scoped_free struct vm_rates *vms =
		xcalloc(after->vm_count, sizeof(*vms));

	report_init(&nothing);
	report_copy(&kept, after);
	report_drop_duplicates(&kept);
	if (!is_boot_continued) {
		node_windows_clear(&node->windows);
	}
	rates_between(&node->rates, vms, is_continued ? before : &nothing,
		&kept);
	pod_series_move(&node->series, before, &kept, vms, is_boot_continued);
	pod_refs_move(&node->pods, node->live->identities, before, &kept);
	if (is_continued) {
		node_windows_add(&node->windows, before, after, &node->rates);
	} else {
		begin_coverage(node, is_run_continued ? before : &nothing,
			after);
	}
	set_newest(node, sample, &kept);
}

/* Adds a late sample of the current run, from before the time that the windows
 * cover. Backlogs are in order; a sample out of order is only stored. */
static void add_backlog(struct live_node *node,
	const struct live_sample *sample)
{
	const struct report *after = sample->report;
	struct report *before = &node->backlog;
	struct node_rates rates;

	if (!same_run(node, sample) || !same_boot(node, sample) ||
		after->monotonic_us > node->covered_from_us ||
		after->monotonic_us <= before->monotonic_us) {
		return;
	}
	rates_between(&rates, NULL, before, after);
	if (before->seq > 0 && rates_span_us(before, after) > 0 &&
		!is_gap(before, after)) {
		node_windows_add(&node->windows, before, after, &rates);
	}
	*before = *after;
	clear_vms(before);
}

int live_add(struct live *live, const struct live_sample *sample,
	uint64_t now_us, struct error *err)
{
	struct live_node *node = map_get(&live->by_name, sample->node);
	int r;

	if (node != NULL && !is_newer(node, sample)) {
		add_backlog(node, sample);
		return 0;
	}
	if (node == NULL) {
		r = make_room(live, sample->peer, now_us, err);
		if (r < 0) {
			return r;
		}
		node = node_new(live, sample->node);
		(void)map_put(&live->by_name, node->name, node);
	} else {
		TAILQ_REMOVE(&live->nodes, node, link);
	}
	claims_note(&live->claims, &node->claim, sample->peer);
	add_newest(node, sample);
	append_with_new_revision(live, node);
	return 0;
}

int live_add_stored(struct live *live, const struct live_sample *sample,
	uint64_t now_us, struct error *err)
{
	int r = live_add(live, sample, now_us, err);
	struct live_node *node = live_find(live, sample->node);

	if (r == 0) {
		begin_coverage(node, &node->newest, &node->newest);
	}
	return r;
}

void live_add_minute(struct live *live, const char *name, uint64_t sample_ms,
	const struct rollup_row *minute)
{
	struct live_node *node = live_find(live, name);
	uint64_t ago_us = (sample_ms - minute->from_ms) * 1000;

	if (node != NULL && minute->from_ms <= sample_ms &&
		ago_us <= node->newest.monotonic_us &&
		node->newest.cpu.online > 0) {
		node_windows_add_minute(&node->windows,
			node->newest.monotonic_us - ago_us, minute,
			node->newest.cpu.online);
	}
}

void live_merge_history(struct live *live, const struct live *older,
	const char *name)
{
	struct live_node *node = live_find(live, name);
	const struct live_node *history = live_find(older, name);

	if (node == NULL || history == NULL ||
		strcmp(node->newest.boot_id, history->newest.boot_id) != 0) {
		return;
	}
	node_windows_merge(&node->windows, &history->windows);
	pod_series_merge(&node->series, &node->newest, &history->series,
		&history->newest);
	/* Clients of an older revision get the change. */
	TAILQ_REMOVE(&live->nodes, node, link);
	append_with_new_revision(live, node);
}

bool live_remove(struct live *live, const char *name)
{
	struct live_node *node = live_find(live, name);

	if (node == NULL) {
		return false;
	}
	remove_node(live, node);
	live->revision++;
	return true;
}

uint64_t live_epoch(const struct live *live)
{
	return live->epoch;
}

uint64_t live_revision(const struct live *live)
{
	return live->revision;
}

size_t live_count(const struct live *live)
{
	return live->by_name.count;
}

struct live_node *live_find(const struct live *live, const char *name)
{
	return map_get(&live->by_name, name);
}

const struct live_node *live_after(const struct live *live, uint64_t revision)
{
	const struct live_node *first = NULL;
	const struct live_node *node = TAILQ_LAST(&live->nodes, node_list);

	while (node != NULL && node->revision > revision) {
		first = node;
		node = TAILQ_PREV(node, node_list, link);
	}
	return first;
}

const struct live_node *live_next(const struct live_node *node)
{
	return TAILQ_NEXT(node, link);
}

const char *live_node_name(const struct live_node *node)
{
	return node->name;
}

uint64_t live_node_revision(const struct live_node *node)
{
	return node->revision;
}

size_t live_node_vms(const struct live_node *node)
{
	return node->newest.vm_count;
}

uint32_t live_node_interval_ms(const struct live_node *node)
{
	return node->newest.interval_ms;
}

const struct report *live_node_report(const struct live_node *node)
{
	return &node->newest;
}

const char *live_node_of_pod(const struct live *live,
	const struct live_node *node, const char *pod_uid, size_t *at)
{
	struct identity_ref *ref = node == NULL
		? NULL
		: pod_refs_find(&node->pods, &node->newest, pod_uid, at);

	return ref == NULL ? identities_node(live->identities, pod_uid)
			   : identity_ref_node(ref);
}

void live_node_figures(struct node_load *out, const struct live_node *node,
	uint64_t now_us)
{
	const struct report *report = &node->newest;

	node_load_init(out);
	out->name = xstrdup(node->name);
	out->age_us = live_node_age_us(node, now_us);
	out->interval_ms = report->interval_ms;
	out->kvm_state = report->kvm.state;
	(void)kvm_detail(out->kvm_detail, &report->kvm);
	out->hugepages_count = report->hugepages_count;
	memcpy(out->hugepages, report->hugepages, sizeof(out->hugepages));
	rates_fill_load(out, report, &node->rates);
	node_windows_fill(out, &node->windows, report->monotonic_us);
}

void live_node_vm(struct vm_load *out, const struct live_node *node, size_t i)
{
	pod_series_fill(out, &node->series, &node->newest, i);
}

static struct vm_name name_of(const struct live_node *node, size_t i)
{
	const struct identity *identity = node->pods.count == 0
		? NULL
		: identity_ref_get(node->pods.list[i], node->name);

	return identity == NULL
		? (struct vm_name){ NULL, NULL }
		: (struct vm_name){ identity->namespace, identity->name };
}

void live_node_load(struct node_load *out, const struct live_node *node,
	uint64_t now_us)
{
	size_t count = node->newest.vm_count;
	scoped_free struct vm_name *names = xcalloc(count, sizeof(*names));

	live_node_figures(out, node, now_us);
	out->vm_count = count;
	out->vms = xcalloc(count, sizeof(*out->vms));
	for (size_t i = 0; i < count; i++) {
		live_node_vm(&out->vms[i], node, i);
		names[i] = name_of(node, i);
	}
	node_load_name_vms(out, names);
}

void live_set_certificate_expiry(struct live *live, const char *name,
	uint64_t expiry_s)
{
	struct live_node *node = live_find(live, name);

	if (node != NULL) {
		node->certificate_expiry_s = expiry_s;
	}
}

uint64_t live_node_certificate_expiry_s(const struct live_node *node)
{
	return node->certificate_expiry_s;
}
