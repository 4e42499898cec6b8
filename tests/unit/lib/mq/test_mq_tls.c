#include "lib/mq/mq.h"

#include "lib/memory.h"
#include "lib/mq/mq_file.h"
#include "tests/support/certs.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/lib/mq/checks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

SLOW("clients wait before they connect again");

/* A request may be on a connection that the server ends, and is lost then: the
 * next one is sent within PATIENCE_S. */
enum { GIVE_UP_MS = PATIENCE_S * 1000 / 5 };

/* The bytes of a request that a peer without nng sends. */
enum { PEER_BYTES = 100 };

/* The end of a connection comes later than the client asks for it. */
enum { LATE_LOOKS = 10 };
static int late_fd = -1, looks_left;
static bool ends_late;

void __real_mq_file_end(int fd);
void __wrap_mq_file_end(int fd);

void __wrap_mq_file_end(int fd)
{
	if (ends_late) {
		late_fd = fd;
		looks_left = LATE_LOOKS;
	} else {
		__real_mq_file_end(fd);
	}
}

static void end_late(void)
{
	if (late_fd >= 0 && looks_left-- == 0) {
		__real_mq_file_end(late_fd);
		late_fd = -1;
		ends_late = false;
	}
}

struct fixture {
	uv_loop_t loop;
	uv_timer_t look;
	struct certs certs;
	struct mq_server *server;
	struct mq_client *client;
	char url[64];
	uint32_t pipe, first_pipe; /* of the last request */
	size_t replies, lost;
	size_t doomed;	/* requests on a connection that the client ended */
	size_t of_peer; /* requests of a peer without nng */
	size_t wanted;	/* replies */
	bool is_done, is_disconnected;
	bool sends_at_once; /* the next request, in on_reply */
	bool is_ending;	    /* no further request is sent */
	bool is_idle, is_refused;
	const char *why; /* what the client says of a refusal, or NULL */
};

static void load(struct tls_material *out, const struct certs *certs,
	const char *ca, const char *name)
{
	scoped_free char *cert = xasprintf("%s.crt", name);
	scoped_free char *key = xasprintf("%s.key", name);

	*out = (struct tls_material){ .ca = certs_text(certs, ca),
		.cert = certs_text(certs, cert),
		.key = certs_text(certs, key) };
}

static void load_server(struct tls_material *out, const struct certs *certs)
{
	load(out, certs, "clients-ca.crt", "aggregator");
}

static void load_client(struct tls_material *out, const struct certs *certs)
{
	load(out, certs, "servers-ca.crt", "agent");
}

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;

	f->pipe = mq_request_pipe(request);
	f->first_pipe = f->first_pipe == 0 ? f->pipe : f->first_pipe;
	f->doomed += late_fd >= 0;
	f->of_peer += len == PEER_BYTES;
	mq_reply(request, bytes, len);
}

static void on_reply(void *owner, const uint8_t *bytes, size_t len)
{
	struct fixture *f = owner;

	(void)len;
	f->replies += bytes != NULL;
	f->lost += bytes == NULL;
	if (f->sends_at_once && !f->is_ending) {
		mq_client_send(f->client, (const uint8_t *)"ping", 4);
	}
}

/* Sends one request after the other while there is a connection. */
static void on_look(uv_timer_t *timer)
{
	struct fixture *f = timer->data;

	end_late();
	f->is_disconnected = !mq_client_connected(f->client);
	if (!f->is_ending && !mq_client_busy(f->client) &&
		!f->is_disconnected) {
		mq_client_send(f->client, (const uint8_t *)"ping", 4);
	}
	f->is_idle = !mq_client_busy(f->client);
	f->is_done = f->replies >= f->wanted && f->wanted > 0;
	f->is_refused = f->why != NULL &&
		strstr(mq_client_last_error(f->client), f->why) != NULL;
}

static void start_client_with(struct fixture *f, const struct tls_material *tls)
{
	struct mq_client_options options = { .url = f->url,
		.tls = tls,
		.timeout_ms = GIVE_UP_MS,
		.on_reply = on_reply,
		.owner = f };

	assert_int_equal(mq_client_new(&f->client, &f->loop, &options, NULL),
		0);
}

/* Awaits the last reply first: a message that arrives while nng 1.5.2 closes a
 * connection blocks the one thread of nng that ends connections. */
static void close_client(struct fixture *f)
{
	f->is_ending = true;
	f->is_idle = false;
	run_until(&f->loop, &f->is_idle);
	f->is_ending = false;
	mq_client_close(f->client);
}

static void start_client(struct fixture *f)
{
	struct tls_material tls;

	load_client(&tls, &f->certs);
	start_client_with(f, &tls);
	tls_fini(&tls);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct tls_material tls;
	struct mq_server_options options = { .url = "tls+tcp://127.0.0.1:0",
		.tls = &tls,
		.contexts = 4,
		.serve = serve,
		.owner = f };

	assert_int_equal(uv_loop_init(&f->loop), 0);
	certs_new(&f->certs, 10);
	load_server(&tls, &f->certs);
	assert_int_equal(mq_server_new(&f->server, &f->loop, &options, NULL),
		0);
	tls_fini(&tls);
	(void)snprintf(f->url, sizeof(f->url), "tls+tcp://localhost:%u",
		mq_server_port(f->server));
	start_client(f);
	assert_int_equal(uv_timer_init(&f->loop, &f->look), 0);
	f->look.data = f;
	assert_int_equal(uv_timer_start(&f->look, on_look, 0, 10), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close_client(f);
	uv_close((uv_handle_t *)&f->look, NULL);
	mq_server_close(f->server);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	certs_remove(&f->certs);
	free(f);
	return 0;
}

static void await_replies(struct fixture *f, size_t more)
{
	f->wanted = f->replies + more;
	f->is_done = false;
	run_until(&f->loop, &f->is_done);
}

/* Until the client has another connection than the first. */
static void await_another_connection(struct fixture *f)
{
	do {
		await_replies(f, 1);
	} while (f->pipe == f->first_pipe);
}

static void use_server(struct fixture *f)
{
	struct tls_material tls;

	load_server(&tls, &f->certs);
	assert_int_equal(mq_server_set_tls(f->server, &tls, NULL), 0);
	tls_fini(&tls);
}

static void use_client(struct fixture *f)
{
	struct tls_material tls;

	load_client(&tls, &f->certs);
	assert_int_equal(mq_client_set_tls(f->client, &tls, NULL), 0);
	tls_fini(&tls);
}

/* A new client connects if it trusts the server's certificate. */
static void expect_connected(struct fixture *f, const struct tls_material *tls)
{
	close_client(f);
	start_client_with(f, tls);
	await_replies(f, 1);
}

/* Until the client says why, and no reply came. */
static void await_refusal(struct fixture *f, const char *why)
{
	size_t replies = f->replies;

	f->why = why;
	f->is_refused = false;
	run_until(&f->loop, &f->is_refused);
	f->why = NULL;
	assert_int_equal(f->replies, replies);
}

static void expect_refused(struct fixture *f, const struct tls_material *tls,
	const char *why)
{
	close_client(f);
	start_client_with(f, tls);
	await_refusal(f, why);
}

/* The server's new certificate has another authority than its old one. */
static void a_server_takes_another_certificate_and_loses_no_request(
	void **state)
{
	struct fixture *f = *state;
	struct tls_material old, both;

	await_replies(f, 3);
	load_client(&old, &f->certs);
	certs_run(&f->certs, "rotate", 10);
	load_client(&both, &f->certs);
	certs_run(&f->certs, "renew", 10);
	use_server(f);
	await_replies(f, 30);
	assert_int_equal(f->pipe, f->first_pipe);
	assert_int_equal(f->lost, 0);
	expect_connected(f, &both);
	expect_refused(f, &old, "not trusted");
	tls_fini(&old);
	tls_fini(&both);
}

static void a_client_connects_again_with_its_new_certificate(void **state)
{
	struct fixture *f = *state;

	await_replies(f, 3);
	certs_run(&f->certs, "renew", 10);
	use_client(f);
	await_another_connection(f);
	await_replies(f, 3);
	assert_int_equal(f->lost, 0);
}

static void a_request_that_follows_a_reply_at_once_is_not_lost(void **state)
{
	struct fixture *f = *state;

	f->sends_at_once = true;
	await_replies(f, 3);
	certs_run(&f->certs, "renew", 10);
	ends_late = true;
	use_client(f);
	await_another_connection(f);
	await_replies(f, 3);
	assert_false(ends_late);
	assert_int_equal(f->doomed + f->lost, 0);
}

/* With certificates of new authorities on both sides, a connection proves that
 * both use them. */
static void both_sides_change_their_authorities_and_lose_no_request(
	void **state)
{
	struct fixture *f = *state;
	struct tls_material old;

	await_replies(f, 3);
	load_client(&old, &f->certs);
	certs_remove(&f->certs);
	certs_new(&f->certs, 10);
	use_server(f);
	use_client(f);
	await_another_connection(f);
	assert_int_equal(f->lost, 0);
	expect_refused(f, &old, "not trusted");
	tls_fini(&old);
}

/* The first connection after the change too. */
static void a_client_of_a_removed_authority_cannot_connect(void **state)
{
	struct fixture *f = *state;
	scoped_free char *cert = certs_text(&f->certs, "agent.crt");
	scoped_free char *key = certs_text(&f->certs, "agent.key");
	uint32_t before;

	await_replies(f, 3);
	before = f->pipe;
	certs_run(&f->certs, "rotate", 10);
	certs_run(&f->certs, "renew", 10);
	certs_run(&f->certs, "retire", 10);
	use_server(f);
	close_client(f);
	certs_write(&f->certs, "agent.crt", cert);
	certs_write(&f->certs, "agent.key", key);
	start_client(f);
	await_refusal(f, "handshake");
	assert_int_equal(f->pipe, before);
}

static void connections_of_before_end_if_the_authorities_changed(void **state)
{
	struct fixture *f = *state;

	await_replies(f, 3);
	certs_run(&f->certs, "rotate", 10);
	use_server(f);
	await_replies(f, 3);
	assert_int_equal(f->pipe, f->first_pipe);
	fake_clock_move(MQ_DRAIN_MS * UINT64_C(1000));
	f->is_disconnected = false;
	await_another_connection(f);
}

/* ---- a peer without nng, whose handshake waits for the test ---- */

struct peer {
	int fd;
	gnutls_session_t session;
	gnutls_certificate_credentials_t credentials;
};

static gnutls_datum_t datum(char *text)
{
	return (gnutls_datum_t){ .data = (unsigned char *)text,
		.size = (unsigned)strlen(text) };
}

static void peer_connect(struct peer *peer, const struct fixture *f)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(mq_server_port(f->server)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct tls_material tls;
	gnutls_datum_t cert, key;

	load_client(&tls, &f->certs);
	cert = datum(tls.cert);
	key = datum(tls.key);
	assert_int_equal(
		gnutls_certificate_allocate_credentials(&peer->credentials), 0);
	assert_int_equal(gnutls_certificate_set_x509_key_mem(peer->credentials,
				 &cert, &key, GNUTLS_X509_FMT_PEM),
		0);
	tls_fini(&tls);
	assert_int_equal(gnutls_init(&peer->session, GNUTLS_CLIENT), 0);
	assert_int_equal(gnutls_set_default_priority(peer->session), 0);
	assert_int_equal(gnutls_credentials_set(peer->session,
				 GNUTLS_CRD_CERTIFICATE, peer->credentials),
		0);
	peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(peer->fd, (struct sockaddr *)&to, sizeof(to)),
		0);
	gnutls_transport_set_int(peer->session, peer->fd);
}

/* With nng's greeting, so that nng lists the connection. */
static void peer_handshake(const struct peer *peer)
{
	static const uint8_t greeting[] = { 0, 'S', 'P', 0, 0, 0x30, 0, 0 };
	uint8_t answer[sizeof(greeting)];
	size_t len = 0;

	assert_int_equal(gnutls_handshake(peer->session), 0);
	assert_int_equal(
		gnutls_record_send(peer->session, greeting, sizeof(greeting)),
		sizeof(greeting));
	while (len < sizeof(answer)) {
		ssize_t got = gnutls_record_recv(peer->session, answer + len,
			sizeof(answer) - len);

		assert_true(got > 0);
		len += (size_t)got;
	}
}

static bool peer_is_ended(void *owner)
{
	const struct peer *peer = owner;
	uint8_t bytes[64];
	ssize_t got = recv(peer->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN);
}

static void peer_close(struct peer *peer)
{
	gnutls_deinit(peer->session);
	gnutls_certificate_free_credentials(peer->credentials);
	(void)close(peer->fd);
}

/* The connection is accepted with the old authorities, and its handshake ends
 * after the change. */
static void a_handshake_of_before_ends_with_the_removed_authorities(
	void **state)
{
	struct fixture *f = *state;
	struct peer peer;

	await_replies(f, 3);
	peer_connect(&peer, f);
	await_replies(f, 3);
	certs_run(&f->certs, "rotate", 10);
	certs_run(&f->certs, "renew", 10);
	certs_run(&f->certs, "retire", 10);
	use_server(f);
	use_client(f);
	peer_handshake(&peer);
	await_another_connection(f);
	assert_false(peer_is_ended(&peer));
	fake_clock_move((MQ_DRAIN_MS + MQ_DRAIN_SPREAD_MS) * UINT64_C(1000));
	run_until_true(&f->loop, peer_is_ended, &peer);
	peer_close(&peer);
	/* nng 1.5.2 may lose a listener that is closed while a connection of it
	 * ends. */
	await_replies(f, 3);
}

/* The first `sent` bytes of a request with a body of len bytes. */
static void peer_send(const struct peer *peer, size_t len, size_t sent)
{
	uint8_t bytes[12 + 4096] = { [8] = 0x80, [11] = 1 };
	uint32_t length = htonl((uint32_t)len + 4);

	assert_true(sent <= sizeof(bytes) - 12);
	memcpy(bytes + 4, &length, sizeof(length));
	assert_int_equal(gnutls_record_send(peer->session, bytes, 12 + sent),
		12 + sent);
}

static bool is_peer_received(void *owner)
{
	const struct peer *peer = owner;
	int waiting = 0;

	assert_int_equal(ioctl(peer->fd, SIOCOUTQ, &waiting), 0);
	return waiting == 0;
}

static bool is_peer_served(void *owner)
{
	const struct fixture *f = owner;

	return f->of_peer >= f->wanted;
}

static void peer_send_requests(const struct peer *peer, struct fixture *f,
	size_t count)
{
	f->wanted = f->of_peer + count;
	for (size_t i = 0; i < count; i++) {
		peer_send(peer, PEER_BYTES, PEER_BYTES);
	}
	run_until_true(&f->loop, is_peer_served, f);
	f->wanted = 0;
}

/* The bytes that TLS adds are estimated: what many requests did not need is no
 * room for one that stops. */
static void a_peer_that_stops_after_many_requests_is_disconnected(void **state)
{
	struct fixture *f = *state;
	struct peer peer;

	peer_connect(&peer, f);
	peer_handshake(&peer);
	peer_send_requests(&peer, f, 1);
	await_check(&f->loop);
	await_check(&f->loop);
	peer_send_requests(&peer, f, 100);
	peer_send(&peer, 100000, 4096);
	run_until_true(&f->loop, is_peer_received, &peer);
	await_check(&f->loop);
	assert_false(peer_is_ended(&peer));
	fake_clock_move(MQ_UNFINISHED_US);
	run_until_true(&f->loop, peer_is_ended, &peer);
	peer_close(&peer);
}

static void unusable_material_keeps_the_old_one(void **state)
{
	struct fixture *f = *state;
	struct tls_material tls;
	struct error err;

	await_replies(f, 3);
	load_client(&tls, &f->certs);
	memset(tls.cert, 'x', strlen(tls.cert));
	assert_int_equal(mq_client_set_tls(f->client, &tls, &err), -EINVAL);
	assert_non_null(strstr(err.text, f->url));
	assert_int_equal(mq_server_set_tls(f->server, &tls, &err), -EINVAL);
	tls_fini(&tls);
	close_client(f);
	start_client(f);
	await_replies(f, 3);
}

#define MQ_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MQ_TEST(a_server_takes_another_certificate_and_loses_no_request),
		MQ_TEST(a_client_connects_again_with_its_new_certificate),
		MQ_TEST(a_request_that_follows_a_reply_at_once_is_not_lost),
		MQ_TEST(both_sides_change_their_authorities_and_lose_no_request),
		MQ_TEST(a_client_of_a_removed_authority_cannot_connect),
		MQ_TEST(connections_of_before_end_if_the_authorities_changed),
		MQ_TEST(a_handshake_of_before_ends_with_the_removed_authorities),
		MQ_TEST(a_peer_that_stops_after_many_requests_is_disconnected),
		MQ_TEST(unusable_material_keeps_the_old_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
