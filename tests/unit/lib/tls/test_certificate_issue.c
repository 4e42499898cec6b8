/* Authorities and what they sign. tests/e2e/certificates_test.py reads such
 * certificates with openssl. */
#include "lib/tls/certificate_issue.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/tls/certificate.h"
#include "tests/support/cm.h"
#include "tests/support/pem.h"

#include <errno.h>
#include <string.h>

#define DAY_S INT64_C(86400)

static const char *const names[] = { "plimsoll-aggregator.plimsoll.svc",
	"localhost" };

static int64_t now_s(void)
{
	return (int64_t)(clock_wall_us() / 1000000);
}

static struct certificate_validity valid_for(int64_t days)
{
	return (struct certificate_validity){
		.from_s = now_s() - 60,
		.until_s = now_s() + days * DAY_S,
	};
}

static struct tls_material make_authority(int64_t days)
{
	const struct certificate_validity validity = valid_for(days);
	struct tls_material made = { 0 };

	assert_int_equal(
		certificate_make_authority(&made, "ca", &validity, NULL), 0);
	return made;
}

static struct certificate_request request_for(enum certificate_use use)
{
	return (struct certificate_request){
		.use = use,
		.common_name = "plimsoll-aggregator",
		.dns_names = names,
		.dns_count = count_of(names),
		.validity = valid_for(30),
	};
}

static void an_authority_signs_what_ends_before_it(void **state)
{
	struct tls_material ca = make_authority(100);
	struct error err;

	(void)state;
	assert_null(ca.ca);
	assert_int_equal(
		certificate_check_authority(&ca, now_s() + 99 * DAY_S, &err),
		0);
	assert_int_equal(
		certificate_check_authority(&ca, now_s() + 101 * DAY_S, &err),
		-EKEYEXPIRED);
	assert_non_null(strstr(err.text, "before its certificates would"));
	tls_fini(&ca);
}

static void each_certificate_has_its_own_key_and_trusts_the_authority(
	void **state)
{
	struct tls_material ca = make_authority(100);
	struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	struct tls_material first = { 0 }, second = { 0 };

	(void)state;
	assert_int_equal(certificate_sign(&first, &request, &ca, NULL), 0);
	request.use = CERTIFICATE_FOR_CLIENTS;
	assert_int_equal(certificate_sign(&second, &request, &ca, NULL), 0);
	assert_string_equal(first.ca, ca.cert);
	assert_string_not_equal(first.cert, second.cert);
	assert_string_not_equal(first.key, second.key);
	tls_fini(&first);
	tls_fini(&second);
	tls_fini(&ca);
}

/* By RFC 5280, 4.2.1.1, readers find the authority by the id of its key. */
static void a_certificate_has_the_id_of_its_authoritys_key(void **state)
{
	static const unsigned char oid[] = "\x06\x03\x55\x1d\x23";
	struct tls_material ca = make_authority(100);
	struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	struct tls_material made = { 0 };

	(void)state;
	assert_int_equal(certificate_sign(&made, &request, &ca, NULL), 0);
	assert_true(pem_contains(made.cert, oid, sizeof(oid) - 1));
	tls_fini(&made);
	tls_fini(&ca);
}

/* openssl made it with subjectKeyIdentifier=none; it ends in 2126. */
static void an_authority_without_an_id_of_its_key_signs(void **state)
{
	static const unsigned char oid[] = "\x06\x03\x55\x1d\x23";
	static char cert[] =
		"-----BEGIN CERTIFICATE-----\n"
		"MIIBMTCB16ADAgECAhRebyq/Kuv9itP/"
		"JEgmTHjhxhKH3TAKBggqhkjOPQQDAjAN\n"
		"MQswCQYDVQQDDAJjYTAgFw0yNjExMjgyMzQ3MTZaGA8yMTI2MTEwNDIzNDcxNl"
		"ow\n"
		"DTELMAkGA1UEAwwCY2EwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATnHH+"
		"zCWfL\n"
		"2sssh5yo6duGbVrUHr79qSQoQy/egfgLnAviY/IfwiOef6/"
		"WMnLqEB5a15+Tvay8\n"
		"p4s3HhWJ6WCNoxMwETAPBgNVHRMBAf8EBTADAQH/"
		"MAoGCCqGSM49BAMCA0kAMEYC\n"
		"IQCLshiD6b93xz9xlv8BsC9g3zlIbl0BavEk6jErigpa0AIhAL/"
		"Fn9rV1Jd4bnnj\n"
		"ND2sLduizSzea3pqh+b9gViob7gu\n"
		"-----END CERTIFICATE-----\n";
	static char key[] =
		"-----BEGIN EC PRIVATE KEY-----\n"
		"MHcCAQEEIP6rd40pRys/CeqyCx+rA0hTZRj/"
		"pNRK52CGgGZ0blX6oAoGCCqGSM49\n"
		"AwEHoUQDQgAE5xx/swlny9rLLIecqOnbhm1a1B6+/"
		"akkKEMv3oH4C5wL4mPyH8Ij\n"
		"nn+v1jJy6hAeWtefk72svKeLNx4VielgjQ==\n"
		"-----END EC PRIVATE KEY-----\n";
	const struct tls_material ca = { .cert = cert, .key = key };
	const struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	struct tls_material made = { 0 };

	(void)state;
	assert_int_equal(certificate_sign(&made, &request, &ca, NULL), 0);
	assert_false(pem_contains(made.cert, oid, sizeof(oid) - 1));
	tls_fini(&made);
}

static void the_names_are_dns_names(void **state)
{
	/* GeneralName of RFC 5280: dNSName has the tag [2]. */
	static const unsigned char name[] = "\x82\x09localhost";
	struct tls_material ca = make_authority(100);
	struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	struct tls_material made = { 0 };

	(void)state;
	assert_int_equal(certificate_sign(&made, &request, &ca, NULL), 0);
	assert_true(pem_contains(made.cert, name, sizeof(name) - 1));
	tls_fini(&made);
	tls_fini(&ca);
}

static void a_certificate_can_have_many_long_names(void **state)
{
	struct tls_material ca = make_authority(100);
	struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	struct tls_material made = { 0 };
	const char *many[21];
	char name[254];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < count_of(many); i++) {
		many[i] = name;
	}
	request.dns_names = many;
	request.dns_count = count_of(many);
	assert_int_equal(certificate_sign(&made, &request, &ca, NULL), 0);
	tls_fini(&made);
	tls_fini(&ca);
}

static void the_first_of_several_certificates_signs(void **state)
{
	struct tls_material ca = make_authority(100), old = make_authority(50);
	struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	struct tls_material both = { .key = ca.key }, made = { 0 };

	(void)state;
	both.cert = xasprintf("%s%s", ca.cert, old.cert);
	assert_int_equal(certificate_sign(&made, &request, &both, NULL), 0);
	assert_string_equal(made.ca, both.cert);
	both.key = old.key;
	assert_int_equal(certificate_check_authority(&both, now_s(), NULL),
		-EINVAL);
	both.key = NULL;
	tls_fini(&both);
	tls_fini(&made);
	tls_fini(&old);
	tls_fini(&ca);
}

static void expect_useless(struct tls_material authority, const char *why)
{
	const struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	struct tls_material made = { 0 };
	struct error err = { 0 };

	assert_int_equal(certificate_check_authority(&authority, now_s(), &err),
		-EINVAL);
	assert_non_null(strstr(err.text, why));
	assert_int_equal(certificate_sign(&made, &request, &authority, &err),
		-EINVAL);
	assert_null(made.cert);
	assert_null(strstr(err.text, "PRIVATE"));
}

static void what_is_no_authority_signs_nothing(void **state)
{
	struct tls_material ca = make_authority(100);
	const struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	struct tls_material leaf = { 0 };
	char none[] = "", half[] = "-----BEGIN CERTIFICATE-----\nMIIB\n";

	(void)state;
	assert_int_equal(certificate_sign(&leaf, &request, &ca, NULL), 0);
	expect_useless((struct tls_material){ .cert = none, .key = ca.key },
		"certificates can be read");
	expect_useless((struct tls_material){ .cert = half, .key = ca.key },
		"certificates can be read");
	expect_useless((struct tls_material){ .cert = ca.cert, .key = none },
		"its key cannot be read");
	expect_useless(
		(struct tls_material){ .cert = ca.cert, .key = leaf.key },
		"its key is not that of its first certificate");
	expect_useless(
		(struct tls_material){ .cert = leaf.cert, .key = leaf.key },
		"its certificate may not sign others");
	tls_fini(&leaf);
	tls_fini(&ca);
}

/* mbedtls would write a question mark for a byte that is no text. */
static void an_authority_whose_name_is_no_text_signs_nothing(void **state)
{
	const struct certificate_validity validity = valid_for(100);
	const struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	struct tls_material ca = { 0 }, made = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		certificate_make_authority(&ca, "c\001a", &validity, NULL), 0);
	assert_int_equal(certificate_sign(&made, &request, &ca, &err), -EINVAL);
	assert_string_equal(err.text,
		"its name has parts that cannot be written");
	assert_null(made.cert);
	tls_fini(&ca);
}

/* Its clock may be wrong, or that of its readers. */
static void an_authority_of_another_time_signs(void **state)
{
	const struct certificate_validity times[] = {
		{ now_s() - 10 * DAY_S, now_s() - DAY_S },
		{ now_s() + DAY_S, now_s() + 10 * DAY_S },
	};

	(void)state;
	for (size_t i = 0; i < count_of(times); i++) {
		const struct certificate_request request =
			request_for(CERTIFICATE_FOR_CLIENTS);
		struct tls_material ca = { 0 }, made = { 0 };

		assert_int_equal(
			certificate_make_authority(&ca, "ca", &times[i], NULL),
			0);
		assert_int_equal(certificate_sign(&made, &request, &ca, NULL),
			0);
		tls_fini(&made);
		tls_fini(&ca);
	}
}

/* A client that trusts one of the two accepts certificates of the other. */
static void expect_trust(const struct tls_material *signer,
	const struct tls_material *trusted)
{
	const struct certificate_request request =
		request_for(CERTIFICATE_FOR_SERVERS);
	scoped_free char *only = certificate_first(trusted->cert);
	struct tls_material made = { 0 };

	assert_int_equal(certificate_sign(&made, &request, signer, NULL), 0);
	assert_int_not_equal(certificate_check_trust(made.cert, only, NULL),
		-EKEYREJECTED);
	tls_fini(&made);
}

static void a_renewed_authority_and_the_old_one_trust_each_others_certificates(
	void **state)
{
	const struct certificate_validity later = valid_for(1000);
	struct tls_material ca = make_authority(100), renewed = { 0 };
	scoped_free char *first = NULL;

	(void)state;
	assert_int_equal(
		certificate_renew_authority(&renewed, &ca, &later, NULL), 0);
	first = certificate_first(renewed.cert);
	assert_string_not_equal(first, ca.cert);
	assert_string_equal(renewed.cert + strlen(first), ca.cert);
	assert_string_equal(renewed.key, ca.key);
	assert_int_equal(certificate_check_authority(&renewed,
				 now_s() + 999 * DAY_S, NULL),
		0);
	expect_trust(&renewed, &ca);
	expect_trust(&ca, &renewed);
	tls_fini(&renewed);
	tls_fini(&ca);
}

/* A leaf of before has it as its authority's. */
static void a_renewed_authority_keeps_the_id_of_its_key(void **state)
{
	/* The extension's value: an OCTET STRING of a SHA-1 in another. */
	static const unsigned char head[] =
		"\x06\x03\x55\x1d\x0e\x04\x16\x04"
		"\x14";
	const struct certificate_validity later = valid_for(1000);
	struct tls_material ca = make_authority(100), renewed = { 0 };

	(void)state;
	assert_true(pem_contains(ca.cert, head, sizeof(head) - 1));
	assert_int_equal(
		certificate_renew_authority(&renewed, &ca, &later, NULL), 0);
	assert_true(pem_contains(renewed.cert, head, sizeof(head) - 1));
	tls_fini(&renewed);
	tls_fini(&ca);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_authority_signs_what_ends_before_it),
		cmocka_unit_test(
			each_certificate_has_its_own_key_and_trusts_the_authority),
		cmocka_unit_test(
			a_certificate_has_the_id_of_its_authoritys_key),
		cmocka_unit_test(an_authority_without_an_id_of_its_key_signs),
		cmocka_unit_test(the_names_are_dns_names),
		cmocka_unit_test(a_certificate_can_have_many_long_names),
		cmocka_unit_test(the_first_of_several_certificates_signs),
		cmocka_unit_test(what_is_no_authority_signs_nothing),
		cmocka_unit_test(
			an_authority_whose_name_is_no_text_signs_nothing),
		cmocka_unit_test(an_authority_of_another_time_signs),
		cmocka_unit_test(
			a_renewed_authority_and_the_old_one_trust_each_others_certificates),
		cmocka_unit_test(a_renewed_authority_keeps_the_id_of_its_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
