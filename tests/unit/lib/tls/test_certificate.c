#include "lib/tls/certificate.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "tests/support/certs.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DAY_S = 86400, DAYS = 40 };

struct fixture {
	struct certs certs;
	char *cert, *key, *ca, *other_key;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	certs_new(&f->certs, DAYS);
	f->cert = certs_text(&f->certs, "aggregator.crt");
	f->key = certs_text(&f->certs, "aggregator.key");
	f->ca = certs_text(&f->certs, "servers-ca.crt");
	f->other_key = certs_text(&f->certs, "agent.key");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	certs_remove(&f->certs);
	free(f->cert);
	free(f->key);
	free(f->ca);
	free(f->other_key);
	free(f);
	return 0;
}

static void assert_days(const char *pem, int days)
{
	int64_t now_s = (int64_t)(clock_wall_us() / 1000000);
	int64_t at_s = 0;

	assert_int_equal(certificate_expiry(&at_s, pem, NULL), 0);
	assert_in_range(at_s - now_s, days * DAY_S - DAY_S / 2, days * DAY_S);
}

static void several_end_when_the_first_or_the_last_of_them_does(void **state)
{
	const struct fixture *f = *state;
	scoped_free char *both = xasprintf("%s%s", f->cert, f->ca);
	int64_t now_s = (int64_t)(clock_wall_us() / 1000000);
	int64_t at_s = 0;

	assert_days(both, DAYS);
	assert_int_equal(certificate_last_expiry(&at_s, both, NULL), 0);
	assert_in_range(at_s - now_s, DAYS * 10 * DAY_S - DAY_S / 2,
		DAYS * 10 * DAY_S);
	assert_int_equal(certificate_last_expiry(&at_s, "", NULL), -EINVAL);
}

static void a_certificate_expires_when_the_script_said(void **state)
{
	const struct fixture *f = *state;

	assert_days(f->cert, DAYS);
	assert_days(f->ca, DAYS * 10);
}

static void a_chain_expires_with_its_first_certificate(void **state)
{
	const struct fixture *f = *state;
	scoped_free char *chain = xasprintf("%s%s", f->ca, f->cert);

	assert_days(chain, DAYS);
}

static void a_key_belongs_to_its_own_certificate_only(void **state)
{
	const struct fixture *f = *state;
	struct error err;

	assert_int_equal(certificate_check_pair(f->cert, f->key, &err), 0);
	assert_int_equal(certificate_check_pair(f->cert, f->other_key, &err),
		-EINVAL);
	assert_string_equal(err.text, "the key is not that of the certificate");
	assert_int_equal(certificate_check_pair(f->ca, f->key, &err), -EINVAL);
}

static void texts_without_a_readable_key_are_refused(void **state)
{
	const struct fixture *f = *state;
	scoped_free char *half = xstrndup(f->key, strlen(f->key) / 2);
	const char *const bad[] = { "", "x", half, f->cert };
	struct error err;

	for (size_t i = 0; i < count_of(bad); i++) {
		assert_int_equal(certificate_check_pair(f->cert, bad[i], &err),
			-EINVAL);
		assert_non_null(strstr(err.text, "the key cannot be read"));
		assert_null(strstr(err.text, "BEGIN"));
	}
}

static void texts_that_are_not_all_certificates_are_refused(void **state)
{
	static const char broken[] =
		"-----BEGIN CERTIFICATE-----\n"
		"AAAA\n-----END CERTIFICATE-----\n";
	const struct fixture *f = *state;
	scoped_free char *half = xstrndup(f->cert, strlen(f->cert) / 2);
	scoped_free char *and_half = xasprintf("%s%s", f->ca, half);
	scoped_free char *and_broken = xasprintf("%s%s", f->ca, broken);
	const char *const bad[] = { "", "x", half, broken, f->key, and_half,
		and_broken };
	int64_t expiry_s = 7;
	struct error err;

	for (size_t i = 0; i < count_of(bad); i++) {
		assert_int_equal(certificate_check_bundle(bad[i], &err),
			-EINVAL);
		assert_int_equal(certificate_expiry(&expiry_s, bad[i], &err),
			-EINVAL);
		assert_non_null(strstr(err.text, "can be read"));
	}
	assert_int_equal(expiry_s, 7);
	assert_int_equal(certificate_check_bundle(f->ca, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_certificate_expires_when_the_script_said),
		cmocka_unit_test(a_chain_expires_with_its_first_certificate),
		cmocka_unit_test(
			several_end_when_the_first_or_the_last_of_them_does),
		cmocka_unit_test(a_key_belongs_to_its_own_certificate_only),
		cmocka_unit_test(texts_without_a_readable_key_are_refused),
		cmocka_unit_test(
			texts_that_are_not_all_certificates_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
