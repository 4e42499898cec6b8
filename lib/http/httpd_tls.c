#include "lib/http/httpd_tls.h"

#include "lib/memory.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { CHAIN_MAX = 16 };

struct httpd_tls {
	uv_mutex_t mutex;
	char *cert, *key; /* guarded by mutex */
};

static gnutls_datum_t datum_of(const char *text)
{
	gnutls_datum_t datum = { .size = (unsigned int)strlen(text) };

	/* GnuTLS only reads it, so dropping const here is safe. */
	memcpy(&datum.data, &text, sizeof(text));
	return datum;
}

/* Imports both, as handshakes will, and compares them. */
static int check(const struct tls_material *material, struct error *err)
{
	gnutls_certificate_credentials_t trial;
	gnutls_datum_t cert = datum_of(material->cert);
	gnutls_datum_t key = datum_of(material->key);
	int r = gnutls_certificate_allocate_credentials(&trial);

	if (r == 0) {
		r = gnutls_certificate_set_x509_key_mem(trial, &cert, &key,
			GNUTLS_X509_FMT_PEM);
		gnutls_certificate_free_credentials(trial);
	}
	return r >= 0
		? 0
		: error_set(err, -EINVAL,
			  "certificate and key do not match or are not PEM: %s",
			  gnutls_strerror(r));
}

int httpd_tls_set(struct httpd_tls *tls, const struct tls_material *material,
	struct error *err)
{
	int r = check(material, err);

	if (r < 0) {
		return r;
	}
	uv_mutex_lock(&tls->mutex);
	free(tls->cert);
	secret_free(tls->key);
	tls->cert = xstrdup(material->cert);
	tls->key = xstrdup(material->key);
	uv_mutex_unlock(&tls->mutex);
	return 0;
}

int httpd_tls_new(struct httpd_tls **out, const struct tls_material *material,
	struct error *err)
{
	struct httpd_tls *tls = xcalloc(1, sizeof(*tls));
	int r;

	if (uv_mutex_init(&tls->mutex) != 0) {
		abort();
	}
	r = httpd_tls_set(tls, material, err);
	if (r < 0) {
		httpd_tls_free(tls);
		return r;
	}
	*out = tls;
	return 0;
}

void httpd_tls_free(struct httpd_tls *tls)
{
	if (tls != NULL) {
		uv_mutex_destroy(&tls->mutex);
		free(tls->cert);
		secret_free(tls->key);
		free(tls);
	}
}

/* ---- one handshake, on libmicrohttpd's thread ---- */

static int import_chain(gnutls_pcert_st **out, unsigned int *len,
	const char *cert)
{
	gnutls_datum_t datum = datum_of(cert);
	gnutls_pcert_st *chain = gnutls_malloc(CHAIN_MAX * sizeof(*chain));
	int r;

	if (chain == NULL) {
		return GNUTLS_E_MEMORY_ERROR;
	}
	*len = CHAIN_MAX;
	r = gnutls_pcert_list_import_x509_raw(chain, len, &datum,
		GNUTLS_X509_FMT_PEM,
		GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
	if (r < 0) {
		gnutls_free(chain);
		return r;
	}
	*out = chain;
	return 0;
}

static int import_key(gnutls_privkey_t *out, const char *key)
{
	gnutls_datum_t datum = datum_of(key);
	gnutls_privkey_t own;
	int r = gnutls_privkey_init(&own);

	if (r < 0) {
		return r;
	}
	r = gnutls_privkey_import_x509_raw(own, &datum, GNUTLS_X509_FMT_PEM,
		NULL, 0);
	if (r < 0) {
		gnutls_privkey_deinit(own);
		return r;
	}
	*out = own;
	return 0;
}

static void chain_free(gnutls_pcert_st *chain, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++) {
		gnutls_pcert_deinit(&chain[i]);
	}
	gnutls_free(chain);
}

static struct httpd_tls *tls_of(gnutls_session_t session)
{
	struct MHD_Connection *connection = gnutls_session_get_ptr(session);
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct httpd_tls_context *context =
		info == NULL ? NULL : info->socket_context;

	return context == NULL ? NULL : context->tls;
}

/* GnuTLS defines the parameters. */
// NOLINTNEXTLINE(readability-function-size)
static int give_certificate(gnutls_session_t session,
	const struct gnutls_cert_retr_st *info, gnutls_pcert_st **certs,
	unsigned int *len, gnutls_ocsp_data_st **ocsp, unsigned int *ocsp_len,
	gnutls_privkey_t *key, unsigned int *flags)
{
	struct httpd_tls *tls = tls_of(session);
	gnutls_pcert_st *chain = NULL;
	int r = GNUTLS_E_INTERNAL_ERROR;

	(void)info;
	if (tls == NULL) {
		return -1;
	}
	uv_mutex_lock(&tls->mutex);
	r = import_chain(&chain, len, tls->cert);
	if (r == 0) {
		r = import_key(key, tls->key);
	}
	uv_mutex_unlock(&tls->mutex);
	if (r < 0) {
		if (chain != NULL) {
			chain_free(chain, *len);
		}
		return -1;
	}
	*certs = chain;
	*ocsp = NULL;
	*ocsp_len = 0;
	*flags = GNUTLS_CERT_RETR_DEINIT_ALL;
	return 0;
}

struct MHD_OptionItem httpd_tls_option(void)
{
	gnutls_certificate_retrieve_function3 *give = give_certificate;
	struct MHD_OptionItem item = {
		.option = MHD_OPTION_HTTPS_CERT_CALLBACK2
	};

	/* ISO C has no cast from a function to void *. */
	memcpy(&item.ptr_value, &give, sizeof(give));
	return item;
}

const char *httpd_tls_library_version(void)
{
	return gnutls_check_version(NULL);
}
