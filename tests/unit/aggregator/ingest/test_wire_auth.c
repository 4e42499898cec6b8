#include "aggregator/ingest/wire_auth.h"

#include "aggregator/ingest/node_owner.h"
#include "kube/config.h"
#include "tests/unit/auth/fake_kube.h"

struct peer {
	struct mq_client *mq;
	struct wire_reply reply; /* the last one */
	bool is_answered;
};

/* Wire auth on a real socket. The answer to any other message than a Hello says
 * whether a Hello is required. */
struct fixture {
	uv_loop_t loop;
	struct access_review *review;
	struct wire_auth *auth;
	struct node_owners *owners;
	struct mq_server *server;
	struct peer peer, other;
};

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;
	scoped_buffer struct buffer out = BUFFER_MAX(256);
	struct wire_request message;
	const struct hello *agent;

	assert_int_equal(wire_unpack_request(&message, bytes, len, NULL), 0);
	if (message.kind == WIRE_HELLO) {
		wire_auth_hello(f->auth, request, &message.hello);
	} else if (message.kind == WIRE_SNAPSHOT_REQUEST) {
		agent = wire_auth_agent(f->auth, request);
		wire_pack_ack(&out,
			&(struct ack){ /* rev 1 stands for a batch here. */
				.need_hello = message.snapshot.rev == 1
					? agent == NULL
					: !wire_auth_allows_scheduler(f->auth,
						  request) });
		mq_reply(request, (const uint8_t *)out.data, out.len);
	}
	wire_request_fini(&message);
}

static void on_answer(void *owner, const uint8_t *bytes, size_t len)
{
	struct peer *p = owner;

	assert_non_null(bytes);
	assert_int_equal(wire_unpack_reply(&p->reply, bytes, len, NULL), 0);
	p->is_answered = true;
}

static void connect_peer(struct fixture *f, struct peer *p)
{
	scoped_free char *url =
		xasprintf("tcp://127.0.0.1:%d", mq_server_port(f->server));
	struct mq_client_options options = { .url = url,
		.timeout_ms = PATIENCE_S * UINT64_C(1000),
		.on_reply = on_answer,
		.owner = p };

	assert_int_equal(mq_client_new(&p->mq, &f->loop, &options, NULL), 0);
}

static int open_with(void **state, bool has_review)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct kube_config config = { 0 };

	(void)fake_setup(NULL);
	assert_int_equal(uv_loop_init(&f->loop), 0);
	f->review = has_review ? access_review_new(&f->loop, &config) : NULL;
	f->owners = node_owners_new();
	f->auth = wire_auth_new(f->review, f->owners);
	assert_int_equal(
		mq_server_new(&f->server, &f->loop,
			&(struct mq_server_options){ .url = "tcp://127.0.0.1:0",
				.contexts = 4,
				.serve = serve,
				.owner = f },
			NULL),
		0);
	connect_peer(f, &f->peer);
	connect_peer(f, &f->other);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return open_with(state, true);
}

static int setup_open(void **state)
{
	return open_with(state, false);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	mq_client_close(f->peer.mq);
	mq_client_close(f->other.mq);
	access_review_stop(f->review);
	mq_server_close(f->server);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	wire_auth_free(f->auth);
	node_owners_free(f->owners);
	access_review_free(f->review);
	free(f);
	return 0;
}

static void send_hello_of(struct peer *p, enum hello_role role,
	const char *token, uint8_t run)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	scoped_free char *copy = token == NULL ? NULL : xstrdup(token);
	struct hello hello = { .role = role,
		.node = "n1",
		.version = "test",
		.run_id = { run },
		.token = copy };

	wire_pack_hello(&out, &hello);
	p->is_answered = false;
	mq_client_send(p->mq, (const uint8_t *)out.data, out.len);
}

static void send_hello(struct peer *p, enum hello_role role, const char *token)
{
	send_hello_of(p, role, token, 'a');
}

static void await(struct fixture *f, struct peer *p, enum wire_reply_kind kind)
{
	run_until(&f->loop, &p->is_answered);
	assert_int_equal(p->reply.kind, kind);
}

static bool needs_hello(struct fixture *f, struct peer *p, bool is_batch)
{
	scoped_buffer struct buffer out = BUFFER_MAX(100);

	wire_pack_snapshot_request(&out,
		&(struct snapshot_request){ 0, is_batch ? 1 : 0 });
	p->is_answered = false;
	mq_client_send(p->mq, (const uint8_t *)out.data, out.len);
	await(f, p, WIRE_ACK);
	return p->reply.ack.need_hello;
}

static void answer_and_await(struct fixture *f, const char *access,
	enum wire_reply_kind kind)
{
	fake_await(&f->loop);
	fake_answer(201, FAKE_ACCOUNT(FAKE_NODE));
	if (access != NULL) {
		fake_answer(201, access);
	}
	await(f, &f->peer, kind);
}

static void an_agent_may_report_but_not_read(void **state)
{
	struct fixture *f = *state;

	assert_true(needs_hello(f, &f->peer, true));
	assert_true(needs_hello(f, &f->peer, false));
	send_hello(&f->peer, HELLO_AGENT, "t");
	answer_and_await(f, FAKE_YES, WIRE_WELCOME);
	assert_false(needs_hello(f, &f->peer, true));
	assert_true(needs_hello(f, &f->peer, false));
	/* The Hello does not count for another connection. */
	assert_true(needs_hello(f, &f->other, true));
}

static void a_scheduler_may_read_but_not_report(void **state)
{
	struct fixture *f = *state;

	send_hello(&f->peer, HELLO_SCHEDULER, "t");
	answer_and_await(f, FAKE_YES, WIRE_WELCOME);
	assert_true(needs_hello(f, &f->peer, true));
	assert_false(needs_hello(f, &f->peer, false));
}

static void a_refused_peer_gets_a_reason_and_no_session(void **state)
{
	struct fixture *f = *state;

	send_hello(&f->peer, HELLO_AGENT, NULL);
	await(f, &f->peer, WIRE_REFUSED);
	assert_non_null(strstr(f->peer.reply.refused, "token is required"));
	send_hello(&f->peer, HELLO_AGENT, "t");
	answer_and_await(f, FAKE_NO, WIRE_REFUSED);
	assert_non_null(
		strstr(f->peer.reply.refused, "create /plimsoll/reports"));
	assert_true(needs_hello(f, &f->peer, true));
}

static void an_authenticated_connection_survives_an_outage(void **state)
{
	struct fixture *f = *state;

	send_hello(&f->peer, HELLO_AGENT, "t");
	fake_await(&f->loop);
	fake_answer(0, "");
	await(f, &f->peer, WIRE_REFUSED);
	assert_true(needs_hello(f, &f->peer, true));
	send_hello(&f->peer, HELLO_AGENT, "t");
	answer_and_await(f, FAKE_YES, WIRE_WELCOME);
	send_hello(&f->peer, HELLO_AGENT, "new");
	fake_await(&f->loop);
	fake_answer(0, "");
	await(f, &f->peer, WIRE_WELCOME);
	assert_false(needs_hello(f, &f->peer, true));
	send_hello(&f->other, HELLO_AGENT, "new");
	fake_await(&f->loop);
	fake_answer(0, "");
	await(f, &f->other, WIRE_REFUSED);
}

static void stopping_answers_a_waiting_hello(void **state)
{
	struct fixture *f = *state;

	send_hello(&f->peer, HELLO_AGENT, "t");
	fake_await(&f->loop);
	access_review_stop(f->review);
	await(f, &f->peer, WIRE_REFUSED);
}

static void without_a_review_every_hello_is_welcome(void **state)
{
	struct fixture *f = *state;

	assert_false(needs_hello(f, &f->peer, false));
	assert_true(needs_hello(f, &f->peer, true));
	send_hello(&f->peer, HELLO_AGENT, NULL);
	await(f, &f->peer, WIRE_WELCOME);
	assert_false(needs_hello(f, &f->peer, true));
	assert_int_equal(fake.sent, 0);
}

#define PODS_OF_NS "/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3D"
#define OTHER_POD                                                              \
	"\"authentication.kubernetes.io/pod-name\":[\"p2\"],"                  \
	"\"authentication.kubernetes.io/pod-uid\":[\"pu2\"]"

/* The peer's agent in pod p1 reports; the other one's, in p2, comes next. */
static void let_two_agents_say_hello(struct fixture *f)
{
	send_hello_of(&f->peer, HELLO_AGENT, "t1", 'a');
	fake_await(&f->loop);
	fake_answer(201, FAKE_ACCOUNT(FAKE_NODE "," FAKE_POD));
	fake_answer(201, FAKE_YES);
	await(f, &f->peer, WIRE_WELCOME);
	send_hello_of(&f->other, HELLO_AGENT, "t2", 'b');
	fake_await(&f->loop);
	fake_answer(201, FAKE_ACCOUNT(FAKE_NODE "," OTHER_POD));
	fake_answer(201, FAKE_YES);
	fake_expect("GET", PODS_OF_NS "p1", "");
}

static void a_second_agent_waits_while_the_pod_of_the_first_runs(void **state)
{
	struct fixture *f = *state;

	let_two_agents_say_hello(f);
	fake_answer(200, "{\"items\":[{\"metadata\":{\"uid\":\"pu1\"}}]}");
	await(f, &f->other, WIRE_REFUSED);
	assert_non_null(strstr(f->other.reply.refused,
		"another agent reports for node 'n1'"));
	assert_int_equal(f->other.reply.retry_ms, WIRE_AUTH_RETRY_MS);
	assert_true(needs_hello(f, &f->other, true));
	assert_false(needs_hello(f, &f->peer, true));
}

static void a_second_agent_takes_over_when_the_first_pod_is_deleted(
	void **state)
{
	struct fixture *f = *state;

	let_two_agents_say_hello(f);
	fake_answer(200,
		"{\"items\":[{\"metadata\":{\"uid\":\"pu1\","
		"\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}}]}");
	await(f, &f->other, WIRE_WELCOME);
	assert_false(needs_hello(f, &f->other, true));
}

static void a_pod_that_may_not_be_listed_is_taken_to_run(void **state)
{
	struct fixture *f = *state;

	let_two_agents_say_hello(f);
	fake_answer(403, "{}");
	await(f, &f->other, WIRE_REFUSED);
}

static void stopping_answers_a_waiting_agent(void **state)
{
	struct fixture *f = *state;

	let_two_agents_say_hello(f);
	access_review_stop(f->review);
	await(f, &f->other, WIRE_REFUSED);
}

static void without_a_review_a_second_agent_waits_too(void **state)
{
	struct fixture *f = *state;

	send_hello_of(&f->peer, HELLO_AGENT, NULL, 'a');
	await(f, &f->peer, WIRE_WELCOME);
	send_hello_of(&f->other, HELLO_AGENT, NULL, 'b');
	await(f, &f->other, WIRE_REFUSED);
	assert_int_equal(f->other.reply.retry_ms, WIRE_AUTH_RETRY_MS);
	send_hello_of(&f->peer, HELLO_AGENT, NULL, 'a');
	await(f, &f->peer, WIRE_WELCOME);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(an_agent_may_report_but_not_read),
		test(a_scheduler_may_read_but_not_report),
		test(a_refused_peer_gets_a_reason_and_no_session),
		test(an_authenticated_connection_survives_an_outage),
		test(stopping_answers_a_waiting_hello),
		test(a_second_agent_waits_while_the_pod_of_the_first_runs),
		test(a_second_agent_takes_over_when_the_first_pod_is_deleted),
		test(a_pod_that_may_not_be_listed_is_taken_to_run),
		test(stopping_answers_a_waiting_agent),
		cmocka_unit_test_setup_teardown(
			without_a_review_a_second_agent_waits_too, setup_open,
			teardown),
		cmocka_unit_test_setup_teardown(
			without_a_review_every_hello_is_welcome, setup_open,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
