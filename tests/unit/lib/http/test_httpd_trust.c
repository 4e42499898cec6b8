#include "lib/buffer.h"
#include "lib/http/httpd.h"
#include "lib/memory.h"
#include "tests/support/certs.h"
#include "tests/support/cm.h"
#include "tests/support/idle_clients.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
	uv_loop_t loop;
	struct certs certs;
	struct httpd *httpd;
	bool is_served;
	char name[HTTPD_CLIENT_NAME_MAX]; /* of the last request; "": refused */
	struct error why;
};

static void serve(void *owner, struct httpd_request *request)
{
	struct fixture *f = owner;

	f->name[0] = '\0';
	if (httpd_client_name(f->name, request, &f->why) < 0) {
		httpd_reply_error(request, 401, "%s", f->why.text);
	} else {
		httpd_reply(request, 200, "text/plain", "hello", 5);
	}
	f->is_served = true;
}

static bool write_error(struct buffer *out, const char *path, int status,
	const char *sentence)
{
	buffer_printf(out, "[\"%s\",%d,\"%s\"]", path, status, sentence);
	return true;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct tls_material tls;

	assert_int_equal(uv_loop_init(&f->loop), 0);
	certs_new(&f->certs, 10);
	tls = (struct tls_material){ .cert = certs_text(&f->certs,
					     "aggregator.crt"),
		.key = certs_text(&f->certs, "aggregator.key") };
	assert_int_equal(
		httpd_new(&f->httpd, &f->loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = serve,
				.owner = f,
				.asks_certificates = true,
				.write_error = write_error,
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

/* A client that accepts any certificate and may show one. */
struct peer {
	int fd;
	gnutls_session_t session;
	gnutls_certificate_credentials_t credentials;
};

static void load(struct peer *peer, const struct fixture *f, const char *name)
{
	scoped_free char *cert_name = xasprintf("%s.crt", name);
	scoped_free char *key_name = xasprintf("%s.key", name);
	scoped_free char *cert = certs_path(&f->certs, cert_name);
	scoped_free char *key = certs_path(&f->certs, key_name);

	assert_int_equal(gnutls_certificate_set_x509_key_file(peer->credentials,
				 cert, key, GNUTLS_X509_FMT_PEM),
		0);
}

static void peer_connect(struct peer *peer, const struct fixture *f,
	const char *name)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(httpd_port(f->httpd)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(peer->fd, (struct sockaddr *)&to, sizeof(to)),
		0);
	assert_int_equal(gnutls_init(&peer->session,
				 GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT),
		0);
	assert_int_equal(gnutls_set_default_priority(peer->session), 0);
	assert_int_equal(
		gnutls_certificate_allocate_credentials(&peer->credentials), 0);
	if (name != NULL) {
		load(peer, f, name);
	}
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

/* Asks once and reads the whole answer. */
static void get(struct fixture *f, const struct peer *peer, const char *end)
{
	static const char ask[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
	char answer[1024] = "";
	size_t len = 0;

	f->is_served = false;
	assert_int_equal(gnutls_record_send(peer->session, ask, strlen(ask)),
		strlen(ask));
	run_until(&f->loop, &f->is_served);
	while (strstr(answer, end) == NULL) {
		ssize_t got = gnutls_record_recv(peer->session, answer + len,
			sizeof(answer) - 1 - len);

		assert_true(got > 0 || got == GNUTLS_E_AGAIN);
		len += got > 0 ? (size_t)got : 0;
	}
}

static void trust(struct fixture *f, const char *name)
{
	scoped_free char *pem = certs_text(&f->certs, name);

	assert_int_equal(httpd_set_client_ca(f->httpd, pem, NULL), 0);
}

/* The sentence that a new client hears, or NULL and its name. */
static void assert_refused(struct fixture *f, const char *cert,
	const char *sentence)
{
	struct peer peer;

	peer_connect(&peer, f, cert);
	get(f, &peer, "]\n");
	peer_close(&peer);
	assert_string_equal(f->name, "");
	assert_non_null(strstr(f->why.text, sentence));
}

static void assert_named(struct fixture *f, const char *cert, const char *name)
{
	struct peer peer;

	peer_connect(&peer, f, cert);
	get(f, &peer, "hello");
	peer_close(&peer);
	assert_string_equal(f->name, name);
}

static void a_client_without_a_certificate_is_told_so(void **state)
{
	struct fixture *f = *state;

	trust(f, "clients-ca.crt");
	assert_refused(f, NULL, "a client certificate is required");
}

static void a_certificate_of_the_authority_has_a_name(void **state)
{
	struct fixture *f = *state;

	trust(f, "clients-ca.crt");
	assert_named(f, "agent", "plimsoll-agent");
}

static void at_first_nobody_is_trusted(void **state)
{
	assert_refused(*state, "agent", "no authority");
}

static void a_certificate_of_another_authority_is_refused(void **state)
{
	struct fixture *f = *state;

	trust(f, "servers-ca.crt");
	assert_refused(f, "agent", "not accepted");
}

static void a_servers_certificate_is_no_clients(void **state)
{
	struct fixture *f = *state;

	trust(f, "servers-ca.crt");
	assert_refused(f, "aggregator", "purpose");
}

static void an_open_connection_loses_its_name_with_its_authority(void **state)
{
	struct fixture *f = *state;
	struct peer peer;

	trust(f, "clients-ca.crt");
	peer_connect(&peer, f, "agent");
	get(f, &peer, "hello");
	trust(f, "servers-ca.crt");
	get(f, &peer, "]\n");
	assert_string_equal(f->name, "");
	trust(f, "clients-ca.crt");
	get(f, &peer, "hello");
	assert_string_equal(f->name, "plimsoll-agent");
	peer_close(&peer);
}

static void text_without_a_certificate_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct error err;

	trust(f, "clients-ca.crt");
	assert_int_equal(httpd_set_client_ca(f->httpd, "", &err), -EINVAL);
	assert_int_equal(httpd_set_client_ca(f->httpd,
				 "-----BEGIN CERTIFICATE-----\nAAAA\n"
				 "-----END CERTIFICATE-----\n",
				 &err),
		-EINVAL);
	assert_named(f, "agent", "plimsoll-agent");
}

#define TLS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TLS_TEST(a_client_without_a_certificate_is_told_so),
		TLS_TEST(a_certificate_of_the_authority_has_a_name),
		TLS_TEST(at_first_nobody_is_trusted),
		TLS_TEST(a_certificate_of_another_authority_is_refused),
		TLS_TEST(a_servers_certificate_is_no_clients),
		TLS_TEST(an_open_connection_loses_its_name_with_its_authority),
		TLS_TEST(text_without_a_certificate_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
