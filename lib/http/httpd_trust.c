#include "lib/http/httpd_trust.h"

#include "lib/memory.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

struct httpd_trust {
	gnutls_x509_trust_list_t list; /* NULL: trusts nobody */
};

/* The longest chain that is looked at. */
enum { CHAIN_MAX = 8 };

struct httpd_trust *httpd_trust_new(void)
{
	return xcalloc(1, sizeof(struct httpd_trust));
}

static void drop_list(struct httpd_trust *trust)
{
	if (trust->list != NULL) {
		gnutls_x509_trust_list_deinit(trust->list, 1);
	}
}

void httpd_trust_free(struct httpd_trust *trust)
{
	if (trust != NULL) {
		drop_list(trust);
		free(trust);
	}
}

int httpd_trust_set(struct httpd_trust *trust, const char *pem,
	struct error *err)
{
	gnutls_x509_trust_list_t list = NULL;
	gnutls_datum_t datum = { .size = (unsigned int)strlen(pem) };
	int r = gnutls_x509_trust_list_init(&list, 0);

	/* GnuTLS only reads it, so dropping const here is safe. */
	memcpy(&datum.data, &pem, sizeof(pem));
	if (r == 0) {
		r = gnutls_x509_trust_list_add_trust_mem(list, &datum, NULL,
			GNUTLS_X509_FMT_PEM, 0, 0);
	}
	if (r <= 0) {
		if (list != NULL) {
			gnutls_x509_trust_list_deinit(list, 1);
		}
		return error_set(err, -EINVAL,
			"no certificate of an authority: %s",
			r == 0 ? "none is in it" : gnutls_strerror(r));
	}
	drop_list(trust);
	trust->list = list;
	return 0;
}

static gnutls_session_t session_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return info == NULL ? NULL : info->tls_session;
}

void httpd_trust_ask(struct MHD_Connection *connection)
{
	gnutls_session_t session = session_of(connection);

	if (session != NULL) {
		gnutls_certificate_server_set_request(session,
			GNUTLS_CERT_REQUEST);
	}
}

/* ---- the verdict ---- */

struct chain {
	gnutls_x509_crt_t certs[CHAIN_MAX];
	unsigned int count;
};

static void chain_fini(struct chain *chain)
{
	for (unsigned int i = 0; i < chain->count; i++) {
		gnutls_x509_crt_deinit(chain->certs[i]);
	}
}

static int chain_read(struct chain *chain, const gnutls_datum_t *raw,
	unsigned int count)
{
	int r = 0;

	for (unsigned int i = 0; i < count && i < CHAIN_MAX && r == 0; i++) {
		r = gnutls_x509_crt_init(&chain->certs[i]);
		if (r == 0) {
			chain->count++;
			r = gnutls_x509_crt_import(chain->certs[i], &raw[i],
				GNUTLS_X509_FMT_DER);
		}
	}
	return r;
}

static int refuse_verdict(unsigned int status, struct error *err)
{
	gnutls_datum_t text = { 0 };
	int r = gnutls_certificate_verification_status_print(status,
		GNUTLS_CRT_X509, &text, 0);

	(void)error_set(err, -EACCES,
		"the client certificate is not accepted: %s",
		r == 0 ? (const char *)text.data : "not verified");
	if (r == 0) {
		gnutls_free(text.data);
	}
	return -EACCES;
}

static int verify(const struct httpd_trust *trust, struct chain *chain,
	struct error *err)
{
	/* GnuTLS wants it mutable. */
	char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
	gnutls_typed_vdata_st data = { .type = GNUTLS_DT_KEY_PURPOSE_OID };
	unsigned int status = GNUTLS_CERT_INVALID;
	int r;

	data.data = (unsigned char *)purpose;
	r = gnutls_x509_trust_list_verify_crt2(trust->list, chain->certs,
		chain->count, &data, 1, 0, &status, NULL);
	if (r < 0) {
		return error_set(err, -EACCES,
			"the client certificate cannot be verified: %s",
			gnutls_strerror(r));
	}
	return status == 0 ? 0 : refuse_verdict(status, err);
}

/* A certificate with two names has none: another reader could take the other
 * one. */
static int copy_name(char *out, size_t size, gnutls_x509_crt_t cert,
	struct error *err)
{
	char other[2];
	size_t other_size = sizeof(other);
	size_t len = size;
	int r = gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME,
		0, 0, out, &len);
	int second = gnutls_x509_crt_get_dn_by_oid(cert,
		GNUTLS_OID_X520_COMMON_NAME, 1, 0, other, &other_size);

	if (r < 0 || len == 0 || strlen(out) != len ||
		second != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
		return error_set(err, -EACCES,
			"the client certificate has no common name, or more "
			"than one");
	}
	return 0;
}

int httpd_trust_name(const struct httpd_trust *trust, char *out, size_t size,
	struct MHD_Connection *connection, struct error *err)
{
	gnutls_session_t session = session_of(connection);
	unsigned int count = 0;
	const gnutls_datum_t *raw = session == NULL
		? NULL
		: gnutls_certificate_get_peers(session, &count);
	struct chain chain = { .count = 0 };
	int r;

	if (raw == NULL || count == 0) {
		return error_set(err, -EACCES,
			"a client certificate is required");
	}
	if (trust->list == NULL) {
		return error_set(err, -EACCES,
			"no authority of client certificates is known");
	}
	if (chain_read(&chain, raw, count) < 0) {
		r = error_set(err, -EACCES,
			"the client certificate cannot be read");
	} else {
		r = verify(trust, &chain, err);
	}
	if (r == 0) {
		r = copy_name(out, size, chain.certs[0], err);
	}
	chain_fini(&chain);
	return r;
}
