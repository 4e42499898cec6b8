#include "agent/agent.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "agent/check.h"
#include "agent/config.h"
#include "agent/health.h"
#include "agent/node.h"
#include "agent/once.h"
#include "agent/report_client.h"
#include "agent/ring.h"
#include "agent/spool.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "lib/tls/tls_watch.h"

enum {
	RING_BYTES_MAX = 64 << 20,
	/* A batch of one report must stay below MQ_SEND_MAX. */
	REPORT_BYTES_MAX = MQ_SEND_MAX / 2,
	DRAIN_POLL_MS = 20,
	FIRST_REPORT_MS = 500,
	INTERVAL_MAX_MS = 60000,
	/* Without a sample for this many intervals --check fails. */
	CHECK_INTERVALS = 3,
};

#define DRAIN_US UINT64_C(3000000)
#define LOG_NODE_US UINT64_C(600000000)
#define LOG_SPOOL_US UINT64_C(60000000)
#define CHECK_MIN_US UINT64_C(10000000)

struct agent {
	const struct agent_config *config;
	struct loop *loop;
	struct node *node;
	struct ring *ring;
	struct spool *spool; /* or NULL */
	struct check *check;
	struct health *health; /* or NULL */
	char boot_id[REPORT_UID_MAX];
	uint64_t sampled_us; /* time of the newest report */
	struct report_client *clients[OPTION_LIST_MAX];
	size_t client_count;
	struct tls_watch *tls; /* or NULL */
	struct timer *sample, *drain;
	uint64_t interval_us; /* current: an aggregator may lengthen it */
	uint64_t drain_until_us;
	struct log_topics errors;
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	char run_text[2 * REPORT_RUN_ID_BYTES + 1]; /* the same for logs */
};

_Static_assert((int)OPTION_LIST_MAX <= (int)RING_CONSUMERS_MAX,
	"every aggregator has its bit in the ring");

static bool should_log(struct agent *agent, const struct error *err,
	uint64_t every_us)
{
	return err->code != 0 &&
		log_allow_topic(&agent->errors, clock_monotonic_us(), every_us,
			err->text, NULL);
}

static void log_spool_error(struct agent *agent)
{
	struct error err;

	(void)spool_take_last_error(&err, agent->spool);
	if (should_log(agent, &err, LOG_SPOOL_US)) {
		log_warning("cannot write the spool", log_err(&err), LOG_END);
	}
}

static uint64_t dropped(const struct agent *agent)
{
	return ring_dropped(agent->ring) +
		(agent->spool == NULL ? 0 : spool_stats(agent->spool)->dropped);
}

static void fill_in_self(struct report *report, struct agent *agent)
{
	report->seq = ring_next_seq(agent->ring);
	report->dropped = dropped(agent);
	report->own.spool_bytes =
		agent->spool == NULL ? 0 : spool_stats(agent->spool)->bytes;
}

static void add_report(struct agent *agent)
{
	struct buffer bytes = BUFFER_MAX(REPORT_BYTES_MAX);
	const struct error *err = node_last_error(agent->node);
	struct report report;

	if (agent->spool != NULL) {
		spool_before_add(agent->spool);
	}
	node_report(&report, agent->node, agent->interval_us);
	if (should_log(agent, err, LOG_NODE_US)) {
		log_warning("cannot read a part of the report", log_err(err),
			LOG_END);
	}
	fill_in_self(&report, agent);
	memcpy(agent->boot_id, report.boot_id, sizeof(agent->boot_id));
	agent->sampled_us = clock_monotonic_us();
	wire_pack_report(&bytes, &report);
	report_fini(&report);
	if (bytes.overflowed) {
		log_error("dropped a report that is too large", LOG_END);
		ring_skip(agent->ring);
	} else {
		ring_add(agent->ring, (const uint8_t *)bytes.data, bytes.len);
	}
	buffer_fini(&bytes);
	if (agent->spool != NULL) {
		spool_after_add(agent->spool);
		log_spool_error(agent);
	}
}

/* Applies the longest interval that an aggregator asks for, but at least the
 * configured one. */
static void update_interval(struct agent *agent)
{
	uint64_t interval_us = agent->config->interval_us;

	for (size_t i = 0; i < agent->client_count; i++) {
		uint64_t hint_ms =
			report_client_interval_hint_ms(agent->clients[i]);

		if (hint_ms > INTERVAL_MAX_MS) {
			hint_ms = INTERVAL_MAX_MS;
		}
		if (hint_ms * 1000 > interval_us) {
			interval_us = hint_ms * 1000;
		}
	}
	if (interval_us != agent->interval_us) {
		log_info("report interval changed",
			log_int("ms", (int64_t)(interval_us / 1000)), LOG_END);
		agent->interval_us = interval_us;
		timer_start(agent->sample, interval_us / 1000,
			interval_us / 1000);
	}
}

static void wake_clients(struct agent *agent)
{
	for (size_t i = 0; i < agent->client_count; i++) {
		report_client_wake(agent->clients[i]);
	}
}

static void on_sample(void *owner)
{
	struct agent *agent = owner;

	update_interval(agent);
	add_report(agent);
	wake_clients(agent);
}

static void on_probed(void *owner, const struct kvm *now,
	const struct kvm *before)
{
	struct agent *agent = owner;
	char detail[80];

	if (now->state != before->state || now->level != before->level) {
		log_info("probed KVM",
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
	for (size_t i = 0; i < agent->client_count; i++) {
		report_client_close(agent->clients[i]);
	}
	agent->client_count = 0;
	tls_watch_close(take_ptr(agent->tls));
	node_close(take_ptr(agent->node));
	check_close(take_ptr(agent->check));
	health_close(take_ptr(agent->health));
}

static void on_drain(void *owner)
{
	struct agent *agent = owner;
	bool drained = true;

	for (size_t i = 0; i < agent->client_count; i++) {
		drained = report_client_drain(agent->clients[i]) && drained;
	}
	if (drained || clock_monotonic_us() >= agent->drain_until_us) {
		if (agent->spool != NULL) {
			spool_write_all(agent->spool);
			log_spool_error(agent);
		}
		close_all(agent);
	}
}

static void on_stop(void *owner)
{
	struct agent *agent = owner;

	log_info("stopping", LOG_END);
	timer_stop(agent->sample);
	wake_clients(agent);
	agent->drain_until_us = clock_monotonic_us() + DRAIN_US;
	timer_start(agent->drain, 0, DRAIN_POLL_MS);
}

static int open_spool(struct agent *agent, struct error *err)
{
	const struct agent_config *config = agent->config;
	const struct spool_options options = {
		.dir = config->spool,
		.bytes_max = config->spool_max_bytes,
		.run_id = agent->run_id,
		.ring = agent->ring,
		.consumers = config->aggregators.count,
	};
	const struct spool_stats *stats;
	int r = spool_open(&agent->spool, &options, err);

	if (r < 0) {
		return r;
	}
	stats = spool_stats(agent->spool);
	if (stats->segments_found > 0) {
		log_info("found reports of earlier runs in the spool",
			log_str("dir", config->spool),
			log_int("segments", (int64_t)stats->segments_found),
			log_int("bytes", (int64_t)stats->bytes), LOG_END);
	}
	return 0;
}

static int open_clients(struct agent *agent, struct error *err)
{
	const struct agent_config *config = agent->config;
	int r = 0;

	if (credentials_use_tls(&config->credentials)) {
		r = tls_watch_new(&agent->tls, loop_uv(agent->loop),
			&config->credentials.tls, TLS_READER_NNG, "aggregator",
			err);
	}
	for (size_t i = 0; r == 0 && i < config->aggregators.count; i++) {
		const struct report_client_options options = {
			.url = config->aggregators.items[i],
			.tls = agent->tls,
			.server_name = config->credentials.server_name,
			.token_file = config->credentials.token_file,
			.delivery = { .node = config->node_name,
				.run_id = agent->run_id,
				.boot_id = agent->boot_id,
				.version = plimsoll_version,
				.ring = agent->ring,
				.spool = agent->spool,
				.consumer = i,
				.tls = agent->tls },
		};

		r = report_client_new(&agent->clients[i], loop_uv(agent->loop),
			&options, err);
		agent->client_count += r == 0;
	}
	return r;
}

/* The agent works even while no aggregator can be reached: a restart would lose
 * the reports in memory. */
static bool describe(void *owner, struct buffer *out)
{
	struct agent *agent = owner;
	uint64_t limit_us = CHECK_INTERVALS * agent->interval_us;
	uint64_t age_us = clock_monotonic_us() - agent->sampled_us;
	size_t delivering = 0;

	for (size_t i = 0; i < agent->client_count; i++) {
		delivering += report_client_is_delivering(agent->clients[i]);
	}
	buffer_printf(out,
		"%" PRIu64
		" reports made, the newest %.1f s ago; "
		"%zu of %zu aggregators accept them; %zu in memory",
		ring_next_seq(agent->ring) - 1, (double)age_us / 1e6,
		delivering, agent->client_count, ring_count(agent->ring));
	return age_us <= (limit_us < CHECK_MIN_US ? CHECK_MIN_US : limit_us);
}

static int make_run_id(struct agent *agent, struct error *err)
{
	if (getrandom(agent->run_id, sizeof(agent->run_id), 0) !=
		(ssize_t)sizeof(agent->run_id)) {
		return error_errno(err, "cannot make a run id");
	}
	for (size_t i = 0; i < sizeof(agent->run_id); i++) {
		(void)snprintf(agent->run_text + 2 * i, 3, "%02x",
			agent->run_id[i]);
	}
	return 0;
}

static int open_health(struct agent *agent, struct error *err)
{
	const char *address = agent->config->health;
	int r;

	if (address == NULL) {
		return 0;
	}
	r = health_new(&agent->health, loop_uv(agent->loop), address, describe,
		agent, err);
	if (r == 0) {
		log_info("listening for probes",
			log_int("health", health_port(agent->health)), LOG_END);
	}
	return r;
}

static int start(struct agent *agent, struct error *err)
{
	const struct agent_config *config = agent->config;
	uv_loop_t *uv = loop_uv(agent->loop);
	struct error check_err;
	int r = make_run_id(agent, err);

	agent->ring = ring_new((size_t)config->ring_reports, RING_BYTES_MAX,
		config->aggregators.count);
	if (r == 0) {
		r = node_new(&agent->node, uv, config, on_probed, agent, err);
	}
	if (r == 0 && config->spool != NULL) {
		r = open_spool(agent, err);
	}
	if (r == 0) {
		r = open_clients(agent, err);
	}
	if (r == 0) {
		r = open_health(agent, err);
	}
	if (r < 0) {
		return r;
	}
	if (check_new(&agent->check, uv, config->node_name, describe, agent,
		    &check_err) < 0) {
		log_warning("cannot answer --check", log_err(&check_err),
			LOG_END);
	}
	/* The first report waits for the first KVM probe. */
	timer_start(agent->sample, FIRST_REPORT_MS, agent->interval_us / 1000);
	log_info("started", log_str("version", plimsoll_version),
		log_str("node", config->node_name),
		log_str("run", agent->run_text),
		log_int("interval_ms", (int64_t)(agent->interval_us / 1000)),
		LOG_END);
	return 0;
}

static int run_agent(const struct agent_config *config, struct error *err)
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
		log_info("stopped", log_str("run", agent.run_text),
			log_int("reports",
				(int64_t)ring_next_seq(agent.ring) - 1),
			log_int("not_stored", (int64_t)ring_count(agent.ring)),
			log_int("dropped", (int64_t)dropped(&agent)), LOG_END);
	}
	loop_free(agent.loop);
	spool_close(agent.spool);
	ring_free(agent.ring);
	return r;
}

static int check(void *config, struct error *err)
{
	return agent_config_check(config, err);
}

static int run(const void *arguments, struct error *err)
{
	const struct agent_config *config = arguments;

	log_setup((enum log_format)config->log_format,
		(enum log_level)config->log_level);
	if (config->check) {
		return check_query(config->node_name, stdout, err);
	}
	return config->once ? once_run(config, err) : run_agent(config, err);
}

const struct program agent_program = {
	.options = &agent_options,
	.config_size = sizeof(struct agent_config),
	.check = check,
	.run = run,
};
