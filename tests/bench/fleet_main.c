/* Plays a fleet of agents, or shows the same fleet to a scraper.
 *
 * usage: fleet send URL NODES VMS INTERVAL_MS SECONDS [steady [LIFE_S]]
 *        fleet serve HOST:PORT VMS
 *
 * send: each agent has its own connection and sends a report each interval, as
 * the real agent does; one more client follows the snapshots. Every second the
 * load of one node rises by FLEET_STEP_CORES at a random moment of its
 * interval, and the program measures when a snapshot shows the rise. The
 * program ends with one line of JSON on standard output. With `steady`, no load
 * rises and no client follows the snapshots; each VM lives LIFE_S seconds, and
 * another one follows. serve: prints its port; GET
 * /metrics/N shows the present metrics of node N. */
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/http/httpd.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"
#include "tests/bench/fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TICK_MS = 5,
	PENDING_MAX = 32, /* reports of one agent that wait for an ack */
	SETTLE_S = 25,	  /* before anything is measured */
	LATENCIES_MAX = 1 << 21,
	PAGE_MAX = 64 << 20,
	/* A prime: agents report in another order than that of their names. */
	PHASE_STEP = 7919,
};

/* Above the noise of a mean, and below a hundredth of a step. */
static const double visible_cores = 0.1;

struct series {
	double *values;
	size_t count;
};

static void note(struct series *s, double value)
{
	if (s->values == NULL) {
		s->values = xcalloc(LATENCIES_MAX, sizeof(*s->values));
	}
	if (s->count < LATENCIES_MAX) {
		s->values[s->count++] = value;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(struct series *s, double q)
{
	if (s->count == 0) {
		return NAN;
	}
	qsort(s->values, s->count, sizeof(*s->values), by_value);
	return s->values[(size_t)((double)(s->count - 1) * q)];
}

struct player {
	struct show *show;
	struct mq_client *client;
	size_t node;
	uint64_t seq, due_us, sent_us;
	struct buffer pending[PENDING_MAX];
	size_t count, sent; /* pending; those under way */
	bool has_greeted, hello_sent;
	uint64_t busy_from_us, step_us; /* 0: no step is awaited */
	double calm_cores;
};

struct show {
	struct loop *loop;
	struct timer *tick;
	struct fleet fleet;
	struct player *players;
	struct mq_client *watcher;
	struct snapshot_request seen;
	bool is_steady;
	uint64_t start_us, end_us, step_due_us;
	size_t next_step;
	size_t reports, stored, received, lost;
	struct series acks, steps;
};

static bool is_measuring(const struct show *show, uint64_t now_us)
{
	return now_us > show->start_us + SETTLE_S * UINT64_C(1000000);
}

/* ---- one agent ---- */

static void say(struct player *p)
{
	scoped_buffer struct buffer out = BUFFER_MAX(MQ_SEND_MAX);
	struct hello hello = { .role = HELLO_AGENT };
	struct packed_report packed[PENDING_MAX];

	if (mq_client_busy(p->client) || p->count == 0) {
		return;
	}
	(void)snprintf(hello.node, sizeof(hello.node), "node-%04zu", p->node);
	memcpy(hello.run_id, &p->node, sizeof(p->node));
	hello.run_id[15] = 1;
	p->sent_us = clock_monotonic_us();
	p->hello_sent = !p->has_greeted;
	if (p->hello_sent) {
		wire_pack_hello(&out, &hello);
	} else {
		for (size_t i = 0; i < p->count; i++) {
			packed[i] = (struct packed_report){
				(const uint8_t *)p->pending[i].data,
				p->pending[i].len
			};
		}
		p->sent = p->count;
		wire_pack_batch(&out,
			&(const struct batch_out){ hello.node, hello.run_id,
				p->sent_us, packed, p->count, 0 });
	}
	mq_client_send(p->client, (const uint8_t *)out.data, out.len);
}

static void forget_sent(struct player *p)
{
	for (size_t i = 0; i < p->sent; i++) {
		buffer_fini(&p->pending[i]);
	}
	memmove(p->pending, p->pending + p->sent,
		(p->count - p->sent) * sizeof(p->pending[0]));
	p->count -= p->sent;
}

static void take_ack(struct player *p, const struct ack *ack)
{
	struct show *show = p->show;
	uint64_t now_us = clock_monotonic_us();

	if (ack->need_hello) {
		p->has_greeted = false;
	} else if (ack->stored) {
		show->stored += p->sent;
		if (is_measuring(show, p->sent_us)) {
			note(&show->acks, (double)(now_us - p->sent_us) / 1e3);
		}
		forget_sent(p);
	} else {
		show->received++;
	}
}

static void on_answer(void *owner, const uint8_t *bytes, size_t len)
{
	struct player *p = owner;
	struct wire_reply reply;

	if (bytes == NULL || wire_unpack_reply(&reply, bytes, len, NULL) < 0) {
		p->show->lost++;
		return; /* the next tick tries again */
	}
	if (reply.kind == WIRE_WELCOME) {
		p->has_greeted = true;
	} else if (reply.kind == WIRE_ACK) {
		take_ack(p, &reply.ack);
	} else {
		p->show->lost++;
	}
	wire_reply_fini(&reply);
	say(p);
}

static void make_report(struct player *p, uint64_t now_us)
{
	struct show *show = p->show;
	struct report report;
	struct buffer *packed;

	if (p->count == PENDING_MAX) {
		show->lost++;
		return;
	}
	p->seq++;
	fleet_report(&report, &show->fleet, p->node, p->seq, now_us,
		p->busy_from_us);
	packed = &p->pending[p->count++];
	*packed = BUFFER_MAX(MQ_SEND_MAX / 2);
	wire_pack_report(packed, &report);
	report_fini(&report);
	show->reports++;
}

/* ---- load steps and their detection ---- */

static void ask(struct show *show)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1024);

	wire_pack_snapshot_request(&out, &show->seen);
	mq_client_send(show->watcher, (const uint8_t *)out.data, out.len);
}

static void look(struct show *show, const struct node_load *load)
{
	uint64_t now_us = clock_monotonic_us();
	size_t node = 0;
	struct player *p;

	for (const char *at = load->name + 5; *at != '\0'; at++) {
		node = node * 10 + (size_t)(*at - '0');
	}
	p = &show->players[node];
	if (p->step_us == 0 || now_us < p->step_us) {
		p->calm_cores = load->cpu_used_cores;
	} else if (load->cpu_used_cores > p->calm_cores + visible_cores) {
		note(&show->steps, (double)(now_us - p->step_us) / 1e3);
		p->step_us = 0;
	}
}

static void take_snapshot(struct show *show, const struct snapshot *snapshot)
{
	show->seen.epoch = snapshot->epoch;
	show->seen.rev = snapshot->rev;
	for (size_t i = 0; i < snapshot->count; i++) {
		look(show, &snapshot->nodes[i]);
	}
}

static void on_snapshot(void *owner, const uint8_t *bytes, size_t len)
{
	struct wire_reply reply;

	if (bytes != NULL && wire_unpack_reply(&reply, bytes, len, NULL) == 0) {
		if (reply.kind == WIRE_SNAPSHOT) {
			take_snapshot(owner, &reply.snapshot);
		}
		wire_reply_fini(&reply);
	}
	ask(owner);
}

/* Raises the load of another node for good, at a random moment of the next
 * interval. */
static void step(struct show *show, uint64_t now_us)
{
	uint64_t interval_us = show->fleet.interval_ms * UINT64_C(1000);
	struct player *p;

	show->step_due_us = now_us + 1000000;
	if (!is_measuring(show, now_us) ||
		show->next_step == show->fleet.nodes ||
		now_us + 5000000 > show->end_us) {
		return;
	}
	p = &show->players[show->next_step++];
	p->step_us = now_us + (uint64_t)random() % interval_us;
	p->busy_from_us = p->step_us;
}

static void on_tick(void *owner)
{
	struct show *show = owner;
	uint64_t now_us = clock_monotonic_us();

	for (size_t i = 0; i < show->fleet.nodes; i++) {
		struct player *p = &show->players[i];

		if (p->due_us <= now_us && now_us < show->end_us) {
			p->due_us += show->fleet.interval_ms * UINT64_C(1000);
			make_report(p, now_us);
			say(p);
		}
	}
	if (!show->is_steady && show->step_due_us <= now_us) {
		step(show, now_us);
	}
	/* Hands over the rest. */
	if (now_us > show->end_us + 2000000) {
		loop_begin_stop(show->loop);
	}
}

static int check(int r, const struct error *err)
{
	if (r < 0) {
		(void)fprintf(stderr, "fleet: %s\n", err->text);
		exit(1);
	}
	return r;
}

static size_t number(const char *text)
{
	size_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++) {
		value = value * 10 + (size_t)(*text - '0');
	}
	return value;
}

static void open_players(struct show *show, const char *url)
{
	struct mq_client_options options = { .url = url, .timeout_ms = 20000 };
	uint64_t interval_us = show->fleet.interval_ms * UINT64_C(1000);
	struct error err;

	for (size_t i = 0; i < show->fleet.nodes; i++) {
		struct player *p = &show->players[i];

		p->show = show;
		p->node = i;
		p->due_us = show->start_us +
			interval_us * (i * PHASE_STEP % show->fleet.nodes) /
				show->fleet.nodes;
		options.on_reply = on_answer;
		options.owner = p;
		(void)check(mq_client_new(&p->client, loop_uv(show->loop),
				    &options, &err),
			&err);
	}
	if (show->is_steady) {
		return;
	}
	options.on_reply = on_snapshot;
	options.owner = show;
	(void)check(mq_client_new(&show->watcher, loop_uv(show->loop), &options,
			    &err),
		&err);
}

static void count_value(void *owner, const char *name, const char *labels,
	const char *pod, double value)
{
	(void)owner;
	(void)name;
	(void)labels;
	(void)pod;
	(void)value;
}

/* Only every fifth report holds all values. */
static double values_per_report(const struct fleet *fleet)
{
	double values = 0;

	for (uint64_t seq = 1; seq <= 5; seq++) {
		struct report report;

		fleet_report(&report, fleet, 0, seq, 1000000, 0);
		values += (double)fleet_values(&report, count_value, NULL) / 5;
		report_fini(&report);
	}
	return values;
}

static void tell(struct show *show)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct json j = json_into(&out);
	size_t pending = 0;

	for (size_t i = 0; i < show->fleet.nodes; i++) {
		pending += show->players[i].count;
	}
	json_object(&j, NULL);
	json_unsigned(&j, "reports", show->reports);
	json_unsigned(&j, "stored", show->stored);
	json_unsigned(&j, "received", show->received);
	json_unsigned(&j, "pending", pending);
	json_unsigned(&j, "lost", show->lost);
	json_number(&j, "values", values_per_report(&show->fleet));
	json_unsigned(&j, "acks", show->acks.count);
	json_number(&j, "ack_p50_ms", quantile(&show->acks, 0.5));
	json_number(&j, "ack_p99_ms", quantile(&show->acks, 0.99));
	json_unsigned(&j, "steps", show->steps.count);
	json_number(&j, "step_p50_ms", quantile(&show->steps, 0.5));
	json_number(&j, "step_p99_ms", quantile(&show->steps, 0.99));
	json_object_end(&j);
	(void)printf("%s\n", out.data);
}

/* A thousand sockets need not be closed one by one. */
static void on_stop(void *owner)
{
	tell(owner);
	(void)fflush(stdout);
	_exit(0);
}

static int send_all(char **argv)
{
	struct show show = { .fleet = { number(argv[3]), number(argv[4]),
				     (uint32_t)number(argv[5]), 0 },
		.is_steady = argv[7] != NULL };

	if (show.is_steady && argv[8] != NULL) {
		show.fleet.life_s = number(argv[8]);
	}
	show.loop = loop_new(on_stop, &show);
	show.start_us = clock_monotonic_us() + 500000;
	show.end_us = show.start_us + number(argv[6]) * 1000000;
	show.players = xcalloc(show.fleet.nodes, sizeof(*show.players));
	open_players(&show, argv[2]);
	if (!show.is_steady) {
		ask(&show);
	}
	show.tick = timer_new(loop_uv(show.loop), on_tick, &show);
	timer_start(show.tick, TICK_MS, TICK_MS);
	loop_run(show.loop);
	return 0;
}

/* ---- the same for a scraper ---- */

struct page {
	struct buffer *out;
	size_t node;
};

static void write_value(void *owner, const char *name, const char *labels,
	const char *pod, double value)
{
	const struct page *page = owner;

	buffer_printf(page->out, "%s{node=\"node-%04zu\"%s%s%s%s%s} %.17g\n",
		name, page->node, *labels == '\0' ? "" : ",", labels,
		*pod == '\0' ? "" : ",pod_uid=\"", pod,
		*pod == '\0' ? "" : "\"", value);
}

static void serve(void *owner, struct httpd_request *request)
{
	static const char route[] = "/metrics/";
	const struct fleet *fleet = owner;
	const char *path = httpd_path(request);
	scoped_buffer struct buffer out = BUFFER_MAX(PAGE_MAX);
	uint64_t now_us = clock_monotonic_us();
	struct page page = { .out = &out };
	struct report report;

	if (strncmp(path, route, sizeof(route) - 1) != 0) {
		httpd_reply_error(request, 404, "no such path");
		return;
	}
	page.node = number(path + sizeof(route) - 1);
	fleet_report(&report, fleet, page.node, 5, now_us, 0);
	(void)fleet_values(&report, write_value, &page);
	report_fini(&report);
	httpd_reply(request, 200, "text/plain; version=0.0.4", out.data,
		out.len);
}

static void on_end(void *owner)
{
	(void)owner;
	_exit(0);
}

static int serve_all(char **argv)
{
	struct fleet fleet = { .vms = number(argv[3]), .interval_ms = 2000 };
	struct loop *loop = loop_new(on_end, NULL);
	struct httpd *httpd = NULL;
	struct error err;

	(void)check(httpd_new(&httpd, loop_uv(loop),
			    &(const struct httpd_options){ .address = argv[2],
				    .serve = serve,
				    .owner = &fleet },
			    &err),
		&err);
	(void)printf("port %u\n", httpd_port(httpd));
	(void)fflush(stdout);
	loop_run(loop);
	return 0;
}

int main(int argc, char **argv)
{
	bool is_steady = argc > 7 && strcmp(argv[7], "steady") == 0;

	log_setup(LOG_TEXT, LOG_ERROR);
	if ((argc == 7 || (is_steady && argc <= 9)) &&
		strcmp(argv[1], "send") == 0 && number(argv[3]) > 0 &&
		number(argv[5]) > 0) {
		return send_all(argv);
	}
	if (argc == 4 && strcmp(argv[1], "serve") == 0) {
		return serve_all(argv);
	}
	(void)fputs(
		"usage: fleet send URL NODES VMS INTERVAL_MS SECONDS [steady "
		"[LIFE_S]]\n"
		"       fleet serve HOST:PORT VMS\n",
		stderr);
	return 2;
}
