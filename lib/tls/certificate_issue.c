#include "lib/tls/certificate_issue.h"

#include "lib/memory.h"
#include "lib/tls/certificate_key_id.h"
#include "lib/tls/certificate_private.h"

#include <errno.h>
#include <mbedtls/asn1write.h>
#include <mbedtls/ecp.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum {
	PEM_MAX = 16384,  /* of a certificate with all its names */
	NAMES_MAX = 8192, /* of the subjectAltName */
	KEY_PEM_MAX = 1024,
	SERIAL_BYTES = 16,
	NAME_MAX_BYTES = 512,
	TIME_TEXT_MAX = 32,
};

#define scoped_writer __attribute__((cleanup(mbedtls_x509write_crt_free)))

/* DER of basicConstraints: an authority whose certificates sign no others, and
 * no authority. */
static const unsigned char is_authority[] = { 0x30, 6, 1, 1, 0xff, 2, 1, 0 };
static const unsigned char is_no_authority[] = { 0x30, 0 };

/* DER of extKeyUsage: id-kp-serverAuth and id-kp-clientAuth. */
static const unsigned char for_servers[] = { 0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5,
	7, 3, 1 };
static const unsigned char for_clients[] = { 0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5,
	7, 3, 2 };

/* One certificate to be written. */
struct order {
	const char *subject, *issuer; /* as mbedtls writes names */
	const struct certificate_validity *validity;
	const struct certificate_request *request; /* NULL: an authority */
	mbedtls_pk_context *key, *issuer_key;
	/* NULL: a new authority, which signs itself. Without a request: the
	 * authority whose certificate is renewed. */
	const mbedtls_x509_crt *authority;
};

static int fail(struct error *err, const char *action, int code)
{
	(void)error_set(err, -EINVAL, "cannot %s: mbedtls error -0x%04x",
		action, (unsigned)-code);
	return -EINVAL;
}

/* The two first bits make every serial number positive, and as long as the
 * others. */
static int set_serial(mbedtls_x509write_cert *out)
{
	unsigned char bytes[SERIAL_BYTES];
	int r = certificate_draw(NULL, bytes, sizeof(bytes));

	bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40);
#if MBEDTLS_VERSION_MAJOR >= 3
	return r != 0 ? r
		      : mbedtls_x509write_crt_set_serial_raw(out, bytes,
				sizeof(bytes));
#else
	mbedtls_mpi serial;

	mbedtls_mpi_init(&serial);
	if (r == 0) {
		r = mbedtls_mpi_read_binary(&serial, bytes, sizeof(bytes));
	}
	if (r == 0) {
		r = mbedtls_x509write_crt_set_serial(out, &serial);
	}
	mbedtls_mpi_free(&serial);
	return r;
#endif
}

/* ---- writing ---- */

static int make_key(mbedtls_pk_context *out, struct error *err)
{
	int r = mbedtls_pk_setup(out,
		mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));

	if (r == 0) {
		r = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1,
			mbedtls_pk_ec(*out), certificate_draw, NULL);
	}
	return r == 0 ? 0 : fail(err, "make a key", r);
}

/* "20261123191608" */
static void write_time(char out[TIME_TEXT_MAX], int64_t at_s)
{
	time_t seconds = at_s;
	struct tm tm = { 0 };

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(out, TIME_TEXT_MAX, "%Y%m%d%H%M%S", &tm);
}

static int set_validity(mbedtls_x509write_cert *out,
	const struct certificate_validity *validity)
{
	char from[TIME_TEXT_MAX], until[TIME_TEXT_MAX];

	write_time(from, validity->from_s);
	write_time(until, validity->until_s);
	return mbedtls_x509write_crt_set_validity(out, from, until);
}

/* Returns the number of bytes, or a negative error. */
static int write_names(unsigned char **at, unsigned char *start,
	const struct certificate_request *request)
{
	const unsigned char tag =
		MBEDTLS_ASN1_CONTEXT_SPECIFIC | 2; /* dNSName */
	int total = 0;

	for (size_t i = request->dns_count; i-- > 0;) {
		const char *name = request->dns_names[i];
		int len = certificate_write_der(at, start, tag, name,
			strlen(name));

		if (len < 0) {
			return len;
		}
		total += len;
	}
	return total;
}

static int set_names(mbedtls_x509write_cert *out,
	const struct certificate_request *request)
{
	unsigned char bytes[NAMES_MAX];
	unsigned char *at = bytes + sizeof(bytes);
	int len = write_names(&at, bytes, request);
	int more =
		len < 0 ? len : mbedtls_asn1_write_len(&at, bytes, (size_t)len);

	if (more >= 0) {
		more = mbedtls_asn1_write_tag(&at, bytes,
			MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE);
	}
	if (more < 0) {
		return more;
	}
	return mbedtls_x509write_crt_set_extension(out,
		MBEDTLS_OID_SUBJECT_ALT_NAME,
		MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, at,
		(size_t)(bytes + sizeof(bytes) - at));
}

static int set_purpose(mbedtls_x509write_cert *out,
	const struct certificate_request *request)
{
	bool is_server = request->use == CERTIFICATE_FOR_SERVERS;
	int r = mbedtls_x509write_crt_set_key_usage(out,
		MBEDTLS_X509_KU_DIGITAL_SIGNATURE);

	if (r == 0) {
		r = mbedtls_x509write_crt_set_extension(out,
			MBEDTLS_OID_BASIC_CONSTRAINTS,
			MBEDTLS_OID_SIZE(MBEDTLS_OID_BASIC_CONSTRAINTS), 1,
			is_no_authority, sizeof(is_no_authority));
	}
	if (r == 0) {
		r = mbedtls_x509write_crt_set_extension(out,
			MBEDTLS_OID_EXTENDED_KEY_USAGE,
			MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0,
			is_server ? for_servers : for_clients,
			sizeof(for_servers));
	}
	return r == 0 ? set_names(out, request) : r;
}

static int set_authority(mbedtls_x509write_cert *out)
{
	int r = mbedtls_x509write_crt_set_key_usage(out,
		MBEDTLS_X509_KU_KEY_CERT_SIGN | MBEDTLS_X509_KU_CRL_SIGN);

	return r != 0 ? r
		      : mbedtls_x509write_crt_set_extension(out,
				MBEDTLS_OID_BASIC_CONSTRAINTS,
				MBEDTLS_OID_SIZE(MBEDTLS_OID_BASIC_CONSTRAINTS),
				1, is_authority, sizeof(is_authority));
}

static int set_fields(mbedtls_x509write_cert *out, const struct order *order)
{
	int r;

	mbedtls_x509write_crt_set_version(out, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(out, MBEDTLS_MD_SHA256);
	mbedtls_x509write_crt_set_subject_key(out, order->key);
	mbedtls_x509write_crt_set_issuer_key(out, order->issuer_key);
	r = set_serial(out);
	if (r == 0) {
		r = set_validity(out, order->validity);
	}
	if (r == 0) {
		r = mbedtls_x509write_crt_set_subject_name(out, order->subject);
	}
	if (r == 0) {
		r = mbedtls_x509write_crt_set_issuer_name(out, order->issuer);
	}
	if (r == 0) {
		r = order->authority != NULL && order->request == NULL
			? certificate_copy_key_id(out, order->authority)
			: mbedtls_x509write_crt_set_subject_key_identifier(out);
	}
	if (r == 0) {
		r = order->authority != NULL
			? certificate_set_authority_key_id(out,
				  order->authority)
			: mbedtls_x509write_crt_set_authority_key_identifier(
				  out);
	}
	if (r == 0) {
		r = order->request != NULL ? set_purpose(out, order->request)
					   : set_authority(out);
	}
	return r;
}

static int write_cert(char **out, const struct order *order, struct error *err)
{
	scoped_writer mbedtls_x509write_cert writer;
	scoped_free char *cert = xcalloc(1, PEM_MAX);
	int r;

	mbedtls_x509write_crt_init(&writer);
	r = set_fields(&writer, order);
	if (r == 0) {
		r = mbedtls_x509write_crt_pem(&writer, (unsigned char *)cert,
			PEM_MAX, certificate_draw, NULL);
	}
	if (r != 0) {
		return fail(err, "write a certificate", r);
	}
	*out = xstrdup(cert);
	return 0;
}

/* Writes the certificate and its key. */
static int write_material(struct tls_material *out, const struct order *order,
	struct error *err)
{
	char key[KEY_PEM_MAX];
	int r = write_cert(&out->cert, order, err);

	if (r < 0) {
		return r;
	}
	r = mbedtls_pk_write_key_pem(order->key, (unsigned char *)key,
		sizeof(key));
	if (r == 0) {
		out->key = xstrdup(key);
	}
	explicit_bzero(key, sizeof(key));
	return r == 0 ? 0 : fail(err, "write a key", r);
}

int certificate_make_authority(struct tls_material *out,
	const char *common_name, const struct certificate_validity *validity,
	struct error *err)
{
	scoped_free char *name = xasprintf("O=plimsoll,CN=%s", common_name);
	scoped_key mbedtls_pk_context key;
	struct order order = {
		.subject = name,
		.issuer = name,
		.validity = validity,
		.key = &key,
		.issuer_key = &key,
	};
	struct tls_material made = { 0 };
	int r;

	mbedtls_pk_init(&key);
	r = make_key(&key, err);
	if (r == 0) {
		r = write_material(&made, &order, err);
	}
	if (r == 0) {
		*out = made;
	}
	return r;
}

/* ---- signing ---- */

static int open_authority(mbedtls_x509_crt *chain, mbedtls_pk_context *key,
	const struct tls_material *authority, struct error *err)
{
	if (certificate_parse_chain(chain, authority->cert) != 0) {
		return error_set(err, -EINVAL,
			"not all of its certificates can be read");
	}
	if (certificate_parse_key(key, authority->key) != 0) {
		return error_set(err, -EINVAL, "its key cannot be read");
	}
	if (!certificate_is_pair(&chain->pk, key)) {
		return error_set(err, -EINVAL,
			"its key is not that of its first certificate");
	}
	if (mbedtls_x509_crt_check_key_usage(chain,
		    MBEDTLS_X509_KU_KEY_CERT_SIGN) != 0) {
		return error_set(err, -EINVAL,
			"its certificate may not sign others");
	}
	return 0;
}

int certificate_check_authority(const struct tls_material *authority,
	int64_t until_s, struct error *err)
{
	scoped_chain mbedtls_x509_crt chain;
	scoped_key mbedtls_pk_context key;
	const mbedtls_x509_time *to = &chain.valid_to;
	int r;

	mbedtls_x509_crt_init(&chain);
	mbedtls_pk_init(&key);
	r = open_authority(&chain, &key, authority, err);
	if (r < 0) {
		return r;
	}
	if (certificate_seconds_of(to) < until_s) {
		return error_set(err, -EKEYEXPIRED,
			"it ends on %04d-%02d-%02d, before its certificates "
			"would",
			to->year, to->mon, to->day);
	}
	return 0;
}

/* Whether the text is a certificate that names and proves its authority as
 * every reader expects. Some compare the bytes of the names. */
static int check_signed(const char *cert, mbedtls_x509_crt *authority,
	struct error *err)
{
	const uint32_t by_date =
		MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE;
	scoped_chain mbedtls_x509_crt chain;
	uint32_t flags = 0;

	mbedtls_x509_crt_init(&chain);
	if (certificate_parse_chain(&chain, cert) != 0 ||
		chain.issuer_raw.len != authority->subject_raw.len ||
		memcmp(chain.issuer_raw.p, authority->subject_raw.p,
			chain.issuer_raw.len) != 0) {
		return error_set(err, -EINVAL,
			"its name has parts that cannot be written");
	}
	if (mbedtls_x509_crt_verify(&chain, authority, NULL, NULL, &flags, NULL,
		    NULL) != 0 &&
		(flags & ~by_date) != 0) {
		return error_set(err, -EINVAL,
			"the new certificate does not prove it: mbedtls flags "
			"0x%x",
			(unsigned)flags);
	}
	return 0;
}

static int write_authority_name(char out[NAME_MAX_BYTES],
	const mbedtls_x509_crt *authority, struct error *err)
{
	return mbedtls_x509_dn_gets(out, NAME_MAX_BYTES, &authority->subject) <
			0
		? error_set(err, -EINVAL,
			  "its name has parts that cannot be written")
		: 0;
}

static int sign(struct tls_material *out,
	const struct certificate_request *request, mbedtls_x509_crt *authority,
	mbedtls_pk_context *authority_key, struct error *err)
{
	scoped_free char *subject =
		xasprintf("O=plimsoll,CN=%s", request->common_name);
	char issuer[NAME_MAX_BYTES];
	scoped_key mbedtls_pk_context key;
	struct order order = {
		.subject = subject,
		.issuer = issuer,
		.validity = &request->validity,
		.request = request,
		.key = &key,
		.issuer_key = authority_key,
		.authority = authority,
	};
	int r;

	mbedtls_pk_init(&key);
	r = write_authority_name(issuer, authority, err);
	if (r == 0) {
		r = make_key(&key, err);
	}
	if (r == 0) {
		r = write_material(out, &order, err);
	}
	return r == 0 ? check_signed(out->cert, authority, err) : r;
}

int certificate_sign(struct tls_material *out,
	const struct certificate_request *request,
	const struct tls_material *authority, struct error *err)
{
	scoped_chain mbedtls_x509_crt chain;
	scoped_key mbedtls_pk_context key;
	struct tls_material made = { 0 };
	int r;

	mbedtls_x509_crt_init(&chain);
	mbedtls_pk_init(&key);
	r = open_authority(&chain, &key, authority, err);
	if (r == 0) {
		r = sign(&made, request, &chain, &key, err);
	}
	if (r < 0) {
		tls_fini(&made);
		return r;
	}
	made.ca = xstrdup(authority->cert);
	*out = made;
	return 0;
}

/* ---- renewal ---- */

static int renew(char **out, mbedtls_x509_crt *authority,
	mbedtls_pk_context *key, const struct certificate_validity *validity,
	struct error *err)
{
	char name[NAME_MAX_BYTES];
	struct order order = {
		.subject = name,
		.issuer = name,
		.validity = validity,
		.key = key,
		.issuer_key = key,
		.authority = authority,
	};
	int r;

	if (authority->issuer_raw.len != authority->subject_raw.len ||
		memcmp(authority->issuer_raw.p, authority->subject_raw.p,
			authority->subject_raw.len) != 0) {
		return error_set(err, -EINVAL,
			"another authority has signed it, which has to renew "
			"it");
	}
	r = write_authority_name(name, authority, err);
	if (r == 0) {
		r = write_cert(out, &order, err);
	}
	return r == 0 ? check_signed(*out, authority, err) : r;
}

int certificate_renew_authority(struct tls_material *out,
	const struct tls_material *authority,
	const struct certificate_validity *validity, struct error *err)
{
	scoped_chain mbedtls_x509_crt chain;
	scoped_key mbedtls_pk_context key;
	scoped_free char *cert = NULL;
	int r;

	mbedtls_x509_crt_init(&chain);
	mbedtls_pk_init(&key);
	r = open_authority(&chain, &key, authority, err);
	if (r == 0) {
		r = renew(&cert, &chain, &key, validity, err);
	}
	if (r < 0) {
		return r;
	}
	*out = (struct tls_material){
		.cert = xasprintf("%s%s", cert, authority->cert),
		.key = xstrdup(authority->key),
	};
	return 0;
}
