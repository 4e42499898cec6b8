/* /v1/decisions and /v1/moves: whole answers, and each parameter. */
#include "aggregator/http/api_records.h"

#include "aggregator/store/records.h"
#include "tests/support/golden.h"
#include "tests/unit/aggregator/http/served_api.h"

#include <math.h>

static const uint64_t wall_us = SERVED_API_WALL_US;

/* ---- records ---- */

static struct decision_record *decision_of(const char *namespace,
	const char *pod, const char *vm, uint64_t time_us)
{
	struct decision_record *r = xcalloc(1, sizeof(*r));

	(void)snprintf(r->namespace, sizeof(r->namespace), "%s", namespace);
	(void)snprintf(r->pod, sizeof(r->pod), "%s", pod);
	(void)snprintf(r->vm, sizeof(r->vm), "%s", vm);
	(void)snprintf(r->uid, sizeof(r->uid), "uid-of-%s", pod);
	(void)snprintf(r->policy, sizeof(r->policy), "real-load");
	(void)snprintf(r->sentence, sizeof(r->sentence), "why %s", pod);
	r->wall_us = time_us;
	r->margin = r->decided_points = r->past_seconds = r->past_cores = NAN;
	r->siblings = r->siblings_correlation = NAN;
	return r;
}

/* With all that a decision can say. */
static void fill(struct decision_record *r)
{
	struct decision_candidate *c = &r->best[0];
	double figure = 0;

	(void)snprintf(r->chosen, sizeof(r->chosen), "node-1");
	(void)snprintf(r->decided_by, sizeof(r->decided_by), "cpu");
	r->nodes = 5;
	r->feasible = 2;
	r->margin = 12.5;
	r->decided_points = 11;
	r->past_seconds = 3600;
	r->past_cores = 0.75;
	r->siblings = 38;
	r->siblings_correlation = 0.5;
	r->best_count = 2;
	(void)snprintf(c->node, sizeof(c->node), "node-1");
	c->score = 91.25;
	c->load_age_us = 1500000;
#define X(field) c->field = figure += 0.0625;
	DECISION_SHARES(X)
	X(cpu_room)
	DECISION_FIGURES(X)
#undef X
	c->term_count = 2;
	c->terms[0] = (struct decision_term){ "cpu", 70 };
	c->terms[1] = (struct decision_term){ "memory", -1.5 };
	r->best[1] = *c;
	(void)snprintf(r->best[1].node, sizeof(c->node), "node-2");
	r->best[1].load_age_us = REPORT_UNKNOWN;
	r->best[1].term_count = 0;
	r->rejections[0].nodes = 2;
	(void)snprintf(r->rejections[0].reason, sizeof(r->rejections->reason),
		"Insufficient cpu");
	r->rejection_count = 1;
	assert_true(decision_add_name(r, "node-3"));
	assert_true(decision_add_name(r, "node-4"));
	r->rejections[1].nodes = 1;
	(void)snprintf(r->rejections[1].reason, sizeof(r->rejections->reason),
		"node is cordoned");
	r->rejection_count = 2;
	assert_true(decision_add_name(r, "node-5"));
}

static void write_decisions(struct scratch *s)
{
	struct store_batch *batch = store_decisions_new();
	struct decision_record *records[] = {
		decision_of("shop", "launcher-web", "web", wall_us - 3000000),
		decision_of("shop", "launcher-db", "db", wall_us - 2000000),
		decision_of("bank", "launcher-web", "web", wall_us - 1000000),
	};

	fill(records[0]);
	for (size_t i = 0; i < count_of(records); i++) {
		store_decisions_add(batch, records[i]);
		free(records[i]);
	}
	assert_true(scratch_write(s, batch));
}

static struct move_record move_of(unsigned id)
{
	struct move_record move = { .revision = id,
		.namespace = "shop",
		.state = id == 1 ? MOVE_SUCCEEDED : MOVE_RECOMMENDED,
		.wall_us = wall_us - UINT64_C(10000000) * (4 - id) };

	(void)snprintf(move.id, sizeof(move.id), "id-%u", id);
	(void)snprintf(move.vm, sizeof(move.vm), "web-%u", id);
	(void)snprintf(move.source, sizeof(move.source), "node-%u", id);
	(void)snprintf(move.sentence, sizeof(move.sentence), "why %u", id);
#define X(field) move.field = NAN;
	MOVE_FIGURES(X)
#undef X
	return move;
}

/* With all that a move can say. */
static void fill_move(struct move_record *move)
{
	double figure = 0;

	(void)snprintf(move->vmi_uid, sizeof(move->vmi_uid), "uid-1");
	(void)snprintf(move->target, sizeof(move->target), "node-9");
	(void)snprintf(move->migration, sizeof(move->migration), "plimsoll-x");
	(void)snprintf(move->failure, sizeof(move->failure), "it was slow");
	(void)snprintf(move->room_for, sizeof(move->room_for), "shop/big");
	(void)snprintf(move->room_for_uid, sizeof(move->room_for_uid), "uid-b");
	move->reason = MOVE_FOR_ROOM;
	move->is_automatic = true;
	move->ordered_us = move->wall_us + 1000000;
	move->ended_us = move->wall_us + 2500000;
#define X(field) move->field = figure += 0.125;
	MOVE_FIGURES(X)
#undef X
}

static void write_moves(struct scratch *s)
{
	struct store_batch *batch = store_moves_new();

	for (unsigned id = 1; id <= 3; id++) {
		struct move_record move = move_of(id);

		if (id == 1) {
			fill_move(&move);
		}
		store_moves_add(batch, &move);
	}
	assert_true(scratch_write(s, batch));
}

/* ---- each test ---- */

static int setup(void **state)
{
	struct served_api *served = xcalloc(1, sizeof(*served));

	served_api_open(served);
	write_decisions(served->s);
	write_moves(served->s);
	served_api_serve(served);
	*state = served;
	return 0;
}

static int teardown(void **state)
{
	served_api_close(*state);
	free(*state);
	return 0;
}

static const char *get(struct served_api *served, const char *path, int status)
{
	return served_api_request(served, "GET", path, "", status);
}

/* The values of a key in the answer, each with a blank before it. */
static const char *values_of(struct served_api *served, const char *path,
	const char *key, char out[256])
{
	scoped_free char *mark = xasprintf("\"%s\":\"", key);
	const char *at = get(served, path, 200);
	size_t len = 0;

	out[0] = '\0';
	while ((at = strstr(at, mark)) != NULL) {
		at += strlen(mark);
		len += (size_t)snprintf(out + len, 256 - len, " %.*s",
			(int)strcspn(at, "\""), at);
	}
	return out;
}

/* A query, and what it gives. */
struct query {
	const char *text, *expected;
};

static void assert_chosen(struct served_api *served, const char *list,
	const char *key, const struct query *queries, size_t count)
{
	char out[256];

	for (size_t i = 0; i < count; i++) {
		scoped_free char *path =
			xasprintf("%s%s", list, queries[i].text);

		assert_string_equal(values_of(served, path, key, out),
			queries[i].expected);
	}
}

static void assert_says(struct served_api *served, const char *path, int status,
	const char *part)
{
	const char *body = get(served, path, status);

	if (strstr(body, part) == NULL) {
		fail_msg("%s gave %s", path, body);
	}
}

static void assert_refused(struct served_api *served, const char *list,
	const struct query *queries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		scoped_free char *path =
			xasprintf("%s?%s", list, queries[i].text);

		assert_says(served, path, 400, queries[i].expected);
	}
}

/* ---- decisions ---- */

static void decisions_say_all_they_hold(void **state)
{
	assert_golden_json("aggregator/decisions.json",
		get(*state, "/v1/decisions", 200));
}

static void decisions_are_chosen_by_name_and_time(void **state)
{
	static const struct query queries[] = {
		{ "",
			" uid-of-launcher-web uid-of-launcher-db "
			"uid-of-launcher-web" },
		{ "?limit=1", " uid-of-launcher-web" },
		{ "?pod=shop/launcher-db", " uid-of-launcher-db" },
		{ "?pod=bank/launcher-db", "" },
		{ "?vm=shop/db", " uid-of-launcher-db" },
		{ "?vm=shop/db&pod=shop/launcher-db", " uid-of-launcher-db" },
		{ "?vm=shop/web&pod=shop/launcher-db", "" },
		{ "?from=1799999998&to=1799999999", " uid-of-launcher-db" },
		{ "?to=1799999998", " uid-of-launcher-web" },
	};

	assert_chosen(*state, "/v1/decisions", "uid", queries,
		count_of(queries));
}

static void a_wrong_parameter_of_decisions_is_a_sentence(void **state)
{
	static const struct query queries[] = {
		{ "pod=web", "pod: 'web' is not NAMESPACE/NAME" },
		{ "pod=/web", "pod: '/web' is not NAMESPACE/NAME" },
		{ "pod=a/", "pod: 'a/' is not NAMESPACE/NAME" },
		{ "vm=a/b/c", "vm: 'a/b/c' is not NAMESPACE/NAME" },
		{ "pod=a/b&vm=b/b", "pod and vm are of different namespaces" },
		{ "limit=0", "limit: '0' is not a number from 1 to 1000" },
		{ "limit=1001", "limit: '1001' is not a number from 1 to" },
		{ "limit=1x", "limit: '1x' is not a number from 1 to 1000" },
		{ "from=x", "from" },
		{ "to=x", "to" },
		{ "from=5&to=5", "from is not before to" },
	};

	assert_refused(*state, "/v1/decisions", queries, count_of(queries));
	(void)get(*state, "/v1/decisions?limit=1000", 200);
}

/* ---- moves ---- */

static void moves_say_all_they_hold(void **state)
{
	assert_golden_json("aggregator/moves.json",
		get(*state, "/v1/moves", 200));
}

static void moves_are_chosen_by_vm_node_and_state(void **state)
{
	static const struct query queries[] = {
		{ "", " id-3 id-2 id-1" },
		{ "?vm=shop/web-2", " id-2" },
		{ "?vm=bank/web-2", "" },
		{ "?node=node-9", " id-1" },
		{ "?node=node-3", " id-3" },
		{ "?state=succeeded", " id-1" },
		{ "?state=recommended", " id-3 id-2" },
		{ "?state=failed", "" },
	};

	assert_chosen(*state, "/v1/moves", "id", queries, count_of(queries));
}

/* A list of as many moves as were asked for may have a next one. */
static void a_list_of_moves_goes_on_at_its_next(void **state)
{
	char out[256];
	scoped_free char *path = NULL;

	assert_string_equal(values_of(*state, "/v1/moves?limit=2", "next", out),
		" 1799999980678-2");
	path = xasprintf("/v1/moves?limit=2&before=%s", out + 1);
	assert_string_equal(values_of(*state, path, "id", out), " id-1");
	assert_string_equal(values_of(*state, path, "next", out), "");
	assert_says(*state, path, 200, "\"next\":null");
}

static void a_wrong_parameter_of_moves_is_a_sentence(void **state)
{
	static const struct query queries[] = {
		{ "vm=web", "vm: 'web' is not NAMESPACE/NAME" },
		{ "node=", "node: '' is not the name of a node" },
		{ "state=x", "state: 'x' is not a state of a move" },
		{ "limit=0", "limit: '0' is not a number from 1 to 1000" },
		{ "before=5", "before: '5' is not the \\\"next\\\" of an" },
		{ "before=5-", "before: '5-' is not the" },
		{ "before=-5", "before: '-5' is not the" },
		{ "before=5-6x", "before: '5-6x' is not the" },
	};
	char name[REPORT_NODE_MAX + 1] = "";
	scoped_free char *path = NULL;

	assert_refused(*state, "/v1/moves", queries, count_of(queries));
	memset(name, 'n', REPORT_NODE_MAX);
	path = xasprintf("/v1/moves?node=%s", name);
	assert_non_null(
		strstr(get(*state, path, 400), "is not the name of a node"));
	path[strlen(path) - 1] = '\0';
	(void)get(*state, path, 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(decisions_say_all_they_hold),
		TEST(decisions_are_chosen_by_name_and_time),
		TEST(a_wrong_parameter_of_decisions_is_a_sentence),
		TEST(moves_say_all_they_hold),
		TEST(moves_are_chosen_by_vm_node_and_state),
		TEST(a_list_of_moves_goes_on_at_its_next),
		TEST(a_wrong_parameter_of_moves_is_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
