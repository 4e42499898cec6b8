#include "lib/http/httpd.h"

#include "lib/memory.h"
#include "tests/support/certs.h"
#include "tests/support/cm.h"
#include "tests/support/idle_clients.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
	uv_loop_t loop;
	struct certs certs;
	struct httpd *httpd;
	bool is_served;
};

/* A client that accepts any certificate. */
struct peer {
	int fd;
	gnutls_session_t session;
	gnutls_certificate_credentials_t credentials;
};

static void serve(void *owner, struct httpd_request *request)
{
	struct fixture *f = owner;

	httpd_reply(request, 200, "text/plain", "hello", 5);
	f->is_served = true;
}

static void load(struct tls_material *out, const struct fixture *f)
{
	*out = (struct tls_material){ .cert = certs_text(&f->certs,
					      "aggregator.crt"),
		.key = certs_text(&f->certs, "aggregator.key") };
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct tls_material tls;

	assert_int_equal(uv_loop_init(&f->loop), 0);
	certs_new(&f->certs, 10);
	load(&tls, f);
	assert_int_equal(
		httpd_new(&f->httpd, &f->loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = serve,
				.owner = f,
				.tls = &tls },
			NULL),
		0);
	tls_fini(&tls);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	httpd_close(f->httpd);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	certs_remove(&f->certs);
	free(f);
	return 0;
}

static void peer_connect(struct peer *peer, const struct fixture *f)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(httpd_port(f->httpd)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(peer->fd, (struct sockaddr *)&to, sizeof(to)),
		0);
	assert_int_equal(gnutls_init(&peer->session, GNUTLS_CLIENT), 0);
	assert_int_equal(gnutls_set_default_priority(peer->session), 0);
	assert_int_equal(
		gnutls_certificate_allocate_credentials(&peer->credentials), 0);
	assert_int_equal(gnutls_credentials_set(peer->session,
				 GNUTLS_CRD_CERTIFICATE, peer->credentials),
		0);
	gnutls_transport_set_int(peer->session, peer->fd);
	assert_int_equal(gnutls_handshake(peer->session), 0);
}

static void peer_close(struct peer *peer)
{
	gnutls_deinit(peer->session);
	gnutls_certificate_free_credentials(peer->credentials);
	(void)close(peer->fd);
}

/* The server's certificate as this connection got it. */
static void assert_got(const struct peer *peer, const char *pem)
{
	unsigned int count = 0;
	const gnutls_datum_t *got =
		gnutls_certificate_get_peers(peer->session, &count);
	gnutls_datum_t text = { 0 };

	assert_int_equal(count, 1);
	assert_int_equal(gnutls_pem_base64_encode2("CERTIFICATE", got, &text),
		0);
	assert_string_equal((char *)text.data, pem);
	gnutls_free(text.data);
}

static void get(struct fixture *f, const struct peer *peer)
{
	static const char ask[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
	char answer[512] = "";
	size_t len = 0;

	f->is_served = false;
	assert_int_equal(gnutls_record_send(peer->session, ask, strlen(ask)),
		strlen(ask));
	run_until(&f->loop, &f->is_served);
	while (strstr(answer, "hello") == NULL) {
		ssize_t got = gnutls_record_recv(peer->session, answer + len,
			sizeof(answer) - 1 - len);

		assert_true(got > 0 || got == GNUTLS_E_AGAIN);
		len += got > 0 ? (size_t)got : 0;
	}
	assert_memory_equal(answer, "HTTP/1.1 200", 12);
}

static void new_connections_get_the_new_certificate_and_old_ones_go_on(
	void **state)
{
	struct fixture *f = *state;
	scoped_free char *first = certs_text(&f->certs, "aggregator.crt");
	scoped_free char *second = NULL;
	struct peer old, new;
	struct tls_material tls;

	peer_connect(&old, f);
	assert_got(&old, first);
	get(f, &old);
	certs_run(&f->certs, "renew", 10);
	second = certs_text(&f->certs, "aggregator.crt");
	load(&tls, f);
	assert_int_equal(httpd_set_tls(f->httpd, &tls, NULL), 0);
	tls_fini(&tls);
	peer_connect(&new, f);
	assert_got(&new, second);
	get(f, &new);
	get(f, &old);
	peer_close(&old);
	peer_close(&new);
}

static void many_changes_disturb_nobody(void **state)
{
	enum { CHANGES = 100 };
	struct fixture *f = *state;
	struct tls_material two[2];
	struct peer old, new;

	peer_connect(&old, f);
	load(&two[0], f);
	certs_run(&f->certs, "renew", 10);
	load(&two[1], f);
	for (int i = 0; i < CHANGES; i++) {
		assert_int_equal(httpd_set_tls(f->httpd, &two[i % 2], NULL), 0);
		peer_connect(&new, f);
		assert_got(&new, two[i % 2].cert);
		get(f, &new);
		peer_close(&new);
		get(f, &old); /* before it has been idle for too long */
	}
	peer_close(&old);
	tls_fini(&two[0]);
	tls_fini(&two[1]);
}

static void a_pair_that_does_not_match_keeps_the_old_one(void **state)
{
	struct fixture *f = *state;
	scoped_free char *first = certs_text(&f->certs, "aggregator.crt");
	struct tls_material tls;
	struct error err;
	struct peer peer;

	load(&tls, f);
	secret_free(tls.key);
	tls.key = certs_text(&f->certs, "agent.key");
	assert_int_equal(httpd_set_tls(f->httpd, &tls, &err), -EINVAL);
	assert_non_null(strstr(err.text, "do not match"));
	tls_fini(&tls);
	peer_connect(&peer, f);
	assert_got(&peer, first);
	peer_close(&peer);
}

#define TLS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TLS_TEST(
			new_connections_get_the_new_certificate_and_old_ones_go_on),
		TLS_TEST(many_changes_disturb_nobody),
		TLS_TEST(a_pair_that_does_not_match_keeps_the_old_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
