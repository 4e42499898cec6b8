#include "agent/agent.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/check.h"
#include "agent/node.h"
#include "agent/self_metrics.h"
#include "agent/ring.h"
#include "agent/spool.h"
#include "agent/aggregator_client.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq.h"

enum {
	RING_BYTES_MAX = 64 << 20,
	/* A report alone in its batch must stay below MQ_SEND_MAX. */
	REPORT_BYTES_MAX = MQ_SEND_MAX / 2,
	DRAIN_POLL_MS = 20,
	FIRST_REPORT_MS = 500,
	INTERVAL_MAX_MS = 60000,
};

#define DRAIN_US UINT64_C(3000000)
#define TROUBLE_EVERY_US UINT64_C(600000000)
#define SPOOL_TROUBLE_US UINT64_C(60000000)

struct agent {
	const struct agent_config *config;
	struct loop *loop;
	struct node *node;
	struct ring *ring;
	struct spool *spool; /* or NULL */
	struct own own;
	struct check *check;
	char boot_id[REPORT_UID_MAX];
	uint64_t sampled_us; /* when the newest report was made */
	struct uplink *uplinks[OPTION_LIST_MAX];
	size_t uplink_count;
	struct timer *sample, *drain;
	uint64_t interval_us; /* what is in force: an aggregator may stretch */
	uint64_t drain_until_us;
	struct log_topics trouble;
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	char run_text[2 * REPORT_RUN_ID_BYTES + 1]; /* the same for logs */
};

_Static_assert((int)OPTION_LIST_MAX <= (int)RING_CONSUMERS_MAX,
	"every aggregator has its bit in the ring");

static void tell_trouble(struct agent *agent)
{
	const struct error *err = node_trouble(agent->node);

	if (err->code != 0 &&
		log_allow_topic(&agent->trouble, clock_monotonic_us(),
			TROUBLE_EVERY_US, err->text, NULL)) {
		log_warning("a part of the report cannot be read", log_err(err),
			LOG_END);
	}
}

/* What the disk does not take is said; it stays in memory. */
static void tell_spool_trouble(struct agent *agent)
{
	const struct error *err = spool_trouble(agent->spool);

	if (err->code != 0 &&
		log_allow_topic(&agent->trouble, clock_monotonic_us(),
			SPOOL_TROUBLE_US, err->text, NULL)) {
		log_warning("reports are in memory only", log_err(err),
			LOG_END);
	}
}

static void tell_own(struct report *report, struct agent *agent)
{
	own_read(&report->own, &agent->own);
	report->own.spool_bytes =
		agent->spool == NULL ? 0 : spool_bytes(agent->spool);
	report->dropped = ring_dropped(agent->ring) +
		(agent->spool == NULL ? 0 : spool_dropped(agent->spool));
}

static void add_report(struct agent *agent)
{
	struct buffer bytes = BUFFER_MAX(REPORT_BYTES_MAX);
	struct report report;

	if (agent->spool != NULL) {
		spool_before_add(agent->spool);
	}
	node_report(&report, agent->node, agent->interval_us);
	tell_trouble(agent);
	report.seq = ring_next_seq(agent->ring);
	tell_own(&report, agent);
	memcpy(agent->boot_id, report.boot_id, sizeof(agent->boot_id));
	agent->sampled_us = clock_monotonic_us();
	wire_pack_report(&bytes, &report);
	report_fini(&report);
	if (bytes.overflowed) {
		log_error("a report is too large to send", LOG_END);
		ring_skip(agent->ring);
	} else {
		ring_add(agent->ring, (const uint8_t *)bytes.data, bytes.len);
	}
	buffer_fini(&bytes);
	if (agent->spool != NULL) {
		spool_after_add(agent->spool);
		tell_spool_trouble(agent);
	}
}

/* The longest wish of any aggregator, never below what was configured. */
static uint64_t interval_wanted_us(const struct agent *agent)
{
	uint64_t wanted_us = agent->config->interval_us;

	for (size_t i = 0; i < agent->uplink_count; i++) {
		uint64_t hint_ms = uplink_interval_hint_ms(agent->uplinks[i]);

		if (hint_ms > INTERVAL_MAX_MS) {
			hint_ms = INTERVAL_MAX_MS;
		}
		if (hint_ms * 1000 > wanted_us) {
			wanted_us = hint_ms * 1000;
		}
	}
	return wanted_us;
}

static void follow_hints(struct agent *agent)
{
	uint64_t wanted_us = interval_wanted_us(agent);

	if (wanted_us == agent->interval_us) {
		return;
	}
	log_info("the interval changes",
		log_int("ms", (int64_t)(wanted_us / 1000)), LOG_END);
	agent->interval_us = wanted_us;
	timer_start(agent->sample, wanted_us / 1000, wanted_us / 1000);
}

static void kick_uplinks(struct agent *agent)
{
	for (size_t i = 0; i < agent->uplink_count; i++) {
		uplink_kick(agent->uplinks[i]);
	}
}

static void on_sample(void *owner)
{
	struct agent *agent = owner;

	follow_hints(agent);
	add_report(agent);
	kick_uplinks(agent);
}

static void on_probed(void *owner, const struct kvm *now,
	const struct kvm *before)
{
	struct agent *agent = owner;
	char detail[80];

	if (now->state != before->state || now->level != before->level) {
		log_info("KVM was probed",
			log_str("state", kvm_state_name(now->state)),
			log_str("level", kvm_level_name(now->level)),
			log_str("detail", kvm_detail(detail, now)), LOG_END);
	}
	if (agent->drain_until_us == 0 &&
		(ring_next_seq(agent->ring) == 1 ||
			now->state != before->state)) {
		timer_start(agent->sample, 0, agent->interval_us / 1000);
	}
}

static void close_all(struct agent *agent)
{
	timer_close(take_ptr(agent->sample));
	timer_close(take_ptr(agent->drain));
	for (size_t i = 0; i < agent->uplink_count; i++) {
		uplink_close(agent->uplinks[i]);
	}
	agent->uplink_count = 0;
	node_close(take_ptr(agent->node));
	check_close(take_ptr(agent->check));
}

static void on_drain(void *owner)
{
	struct agent *agent = owner;
	bool drained = true;

	for (size_t i = 0; i < agent->uplink_count; i++) {
		drained = uplink_drain(agent->uplinks[i]) && drained;
	}
	if (drained || clock_monotonic_us() >= agent->drain_until_us) {
		if (agent->spool != NULL) {
			spool_keep_all(agent->spool);
		}
		close_all(agent);
	}
}

static void on_stop(void *owner)
{
	struct agent *agent = owner;

	log_info("stopping", LOG_END);
	timer_stop(agent->sample);
	kick_uplinks(agent);
	agent->drain_until_us = clock_monotonic_us() + DRAIN_US;
	timer_start(agent->drain, 0, DRAIN_POLL_MS);
}

static int open_spool(struct agent *agent, struct error *err)
{
	const struct agent_config *config = agent->config;
	struct spool_options options = {
		.dir = config->spool,
		.bytes_max = config->spool_max_bytes,
		.run_id = agent->run_id,
		.consumers = config->aggregators.count,
	};
	int r;

	agent->ring = ring_new((size_t)config->ring_reports, RING_BYTES_MAX,
		config->aggregators.count);
	if (config->spool == NULL) {
		return 0;
	}
	options.ring = agent->ring;
	r = spool_open(&agent->spool, &options, err);
	if (r == 0 && spool_segments_found(agent->spool) > 0) {
		log_info("reports of earlier runs are in the spool",
			log_str("dir", config->spool),
			log_int("segments",
				(int64_t)spool_segments_found(agent->spool)),
			log_int("bytes", (int64_t)spool_bytes(agent->spool)),
			LOG_END);
	}
	return r;
}

static int open_each_uplink(struct agent *agent, const struct tls_material *tls,
	struct error *err)
{
	const struct option_list *urls = &agent->config->aggregators;
	const struct dial_config *dial = &agent->config->dial;

	int r = open_spool(agent, err);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < urls->count; i++) {
		const struct uplink_options options = {
			.url = urls->items[i],
			.tls = tls,
			.server_name = dial->server_name,
			.token_file = dial->token_file,
			.session = { .node = agent->config->node_name,
				.run_id = agent->run_id,
				.boot_id = agent->boot_id,
				.version = plimsoll_version,
				.ring = agent->ring,
				.spool = agent->spool,
				.consumer = i },
		};
		r = uplink_new(&agent->uplinks[i], loop_uv(agent->loop),
			&options, err);
		if (r < 0) {
			return r;
		}
		agent->uplink_count++;
	}
	return 0;
}

static int open_uplinks(struct agent *agent, struct error *err)
{
	const struct dial_config *dial = &agent->config->dial;
	struct tls_material tls = { 0 };
	int r = tls_load(&tls, &dial->tls, err);

	if (r == 0) {
		r = open_each_uplink(agent, dial_uses_tls(dial) ? &tls : NULL,
			err);
	}
	tls_fini(&tls);
	return r;
}

/* A sample that is late by this many intervals will not come. */
enum { CHECK_INTERVALS = 3 };
#define CHECK_LEAST_US UINT64_C(10000000)

/* Whoever restarts an agent because an aggregator is away loses what it kept
 * for it, so that is said and is no failure. */
static bool say_check(void *owner, struct buffer *out)
{
	struct agent *agent = owner;
	uint64_t now_us = clock_monotonic_us();
	uint64_t late_us = CHECK_INTERVALS * agent->interval_us;
	uint64_t age_us = now_us - agent->sampled_us;
	size_t taking = 0;

	for (size_t i = 0; i < agent->uplink_count; i++) {
		taking += uplink_is_taken(agent->uplinks[i]);
	}
	buffer_printf(out,
		"%" PRIu64
		" reports, the newest %.1f s old; "
		"%zu of %zu aggregators take them; %zu are kept",
		ring_next_seq(agent->ring) - 1, (double)age_us / 1e6, taking,
		agent->uplink_count, ring_count(agent->ring));
	return age_us <= (late_us < CHECK_LEAST_US ? CHECK_LEAST_US : late_us);
}

static int start(struct agent *agent, struct error *err)
{
	uv_loop_t *uv = loop_uv(agent->loop);
	struct error unanswered;
	int r;

	if (getrandom(agent->run_id, sizeof(agent->run_id), 0) !=
		(ssize_t)sizeof(agent->run_id)) {
		return error_errno(err, "cannot make a run id");
	}
	for (size_t i = 0; i < sizeof(agent->run_id); i++) {
		(void)snprintf(agent->run_text + 2 * i, 3, "%02x",
			agent->run_id[i]);
	}
	own_init(&agent->own);
	r = node_new(&agent->node, uv, agent->config, on_probed, agent, err);
	if (r == 0) {
		r = open_uplinks(agent, err);
	}
	if (r == 0 &&
		check_new(&agent->check, uv, agent->config->node_name,
			say_check, agent, &unanswered) < 0) {
		log_warning("--check cannot be answered", log_err(&unanswered),
			LOG_END);
	}
	if (r == 0) {
		/* The first report waits a moment for what KVM says. */
		timer_start(agent->sample, FIRST_REPORT_MS,
			agent->interval_us / 1000);
		log_info("started", log_str("version", plimsoll_version),
			log_str("node", agent->config->node_name),
			log_str("run", agent->run_text),
			log_int("interval_ms",
				(int64_t)(agent->interval_us / 1000)),
			LOG_END);
	}
	return r;
}

/* The last words: what became of this run's reports. */
static void log_stopped(const struct agent *agent)
{
	log_info("stopped", log_str("run", agent->run_text),
		log_int("reports", (int64_t)ring_next_seq(agent->ring) - 1),
		log_int("not_stored", (int64_t)ring_count(agent->ring)),
		log_int("dropped", (int64_t)ring_dropped(agent->ring)),
		LOG_END);
}

int agent_run(const struct agent_config *config, struct error *err)
{
	struct agent agent = {
		.config = config,
		.interval_us = config->interval_us,
	};
	int r;

	agent.loop = loop_new(on_stop, &agent);
	agent.sample = timer_new(loop_uv(agent.loop), on_sample, &agent);
	agent.drain = timer_new(loop_uv(agent.loop), on_drain, &agent);
	r = start(&agent, err);
	if (r < 0) {
		close_all(&agent);
	}
	loop_run(agent.loop);
	if (r == 0) {
		log_stopped(&agent);
	}
	loop_free(agent.loop);
	spool_close(agent.spool);
	own_fini(&agent.own);
	ring_free(agent.ring);
	return r;
}
