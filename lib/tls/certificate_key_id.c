#include "lib/tls/certificate_key_id.h"

#include "lib/tls/certificate_private.h"

#include <mbedtls/asn1.h>
#include <mbedtls/asn1write.h>
#include <mbedtls/oid.h>
#include <stdbool.h>
#include <string.h>

enum {
	KEY_ID_MAX = 64, /* a SHA-512; RFC 5280 names a SHA-1 */
	DER_MAX = KEY_ID_MAX + 16,
	SEQUENCE = MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE,
};

/* Bytes of a certificate that was read. */
struct bytes {
	unsigned char *at; /* of the certificate, which is not changed */
	size_t len;
};

/* Reads one element with this tag and advances *at behind it. */
static bool take(struct bytes *out, unsigned char **at,
	const unsigned char *end, int tag)
{
	size_t len = 0;

	if (mbedtls_asn1_get_tag(at, end, &len, tag) != 0) {
		return false;
	}
	*out = (struct bytes){ *at, len };
	*at += len;
	return true;
}

/* The OCTET STRING in the value of an Extension, if it is a
 * subjectKeyIdentifier: SEQUENCE { OID, [BOOLEAN], OCTET STRING }. */
static bool read_key_id(struct bytes *out, const struct bytes *extension)
{
	unsigned char *at = extension->at;
	const unsigned char *end = at + extension->len;
	struct bytes oid, critical, value;

	if (!take(&oid, &at, end, MBEDTLS_ASN1_OID) ||
		oid.len !=
			MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_KEY_IDENTIFIER) ||
		memcmp(oid.at, MBEDTLS_OID_SUBJECT_KEY_IDENTIFIER, oid.len) !=
			0) {
		return false;
	}
	(void)take(&critical, &at, end, MBEDTLS_ASN1_BOOLEAN);
	if (!take(&value, &at, end, MBEDTLS_ASN1_OCTET_STRING)) {
		return false;
	}
	at = value.at;
	return take(out, &at, value.at + value.len, MBEDTLS_ASN1_OCTET_STRING);
}

/* mbedtls 2.28 keeps the extensions unread. */
static bool find_key_id(struct bytes *out, const mbedtls_x509_crt *authority)
{
	unsigned char *at = authority->v3_ext.p;
	struct bytes all, extension;

	if (at == NULL ||
		!take(&all, &at, at + authority->v3_ext.len, SEQUENCE)) {
		return false;
	}
	at = all.at;
	while (take(&extension, &at, all.at + all.len, SEQUENCE)) {
		if (read_key_id(out, &extension)) {
			return out->len <= KEY_ID_MAX;
		}
	}
	return false;
}

int certificate_write_der(unsigned char **at, unsigned char *start,
	unsigned char tag, const void *bytes, size_t size)
{
	int len = mbedtls_asn1_write_raw_buffer(at, start, bytes, size);
	int head =
		len < 0 ? len : mbedtls_asn1_write_len(at, start, (size_t)len);
	int kind = head < 0 ? head : mbedtls_asn1_write_tag(at, start, tag);

	return kind < 0 ? kind : len + head + kind;
}

int certificate_copy_key_id(mbedtls_x509write_cert *out,
	const mbedtls_x509_crt *authority)
{
	unsigned char der[DER_MAX];
	unsigned char *at = der + sizeof(der);
	struct bytes id;
	int len;

	if (!find_key_id(&id, authority)) {
		return 0;
	}
	len = certificate_write_der(&at, der, MBEDTLS_ASN1_OCTET_STRING, id.at,
		id.len);
	if (len < 0) {
		return len;
	}
	return mbedtls_x509write_crt_set_extension(out,
		MBEDTLS_OID_SUBJECT_KEY_IDENTIFIER,
		MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_KEY_IDENTIFIER), 0, at,
		(size_t)len);
}

int certificate_set_authority_key_id(mbedtls_x509write_cert *out,
	const mbedtls_x509_crt *authority)
{
	unsigned char der[DER_MAX];
	unsigned char *at = der + sizeof(der);
	struct bytes id;
	int len, more;

	if (!find_key_id(&id, authority)) {
		return 0;
	}
	/* keyIdentifier is [0] IMPLICIT. */
	len = certificate_write_der(&at, der, MBEDTLS_ASN1_CONTEXT_SPECIFIC,
		id.at, id.len);
	more = len < 0 ? len : mbedtls_asn1_write_len(&at, der, (size_t)len);
	if (more >= 0) {
		more = mbedtls_asn1_write_tag(&at, der, SEQUENCE);
	}
	if (more < 0) {
		return more;
	}
	return mbedtls_x509write_crt_set_extension(out,
		MBEDTLS_OID_AUTHORITY_KEY_IDENTIFIER,
		MBEDTLS_OID_SIZE(MBEDTLS_OID_AUTHORITY_KEY_IDENTIFIER), 0, at,
		(size_t)(der + sizeof(der) - at));
}
