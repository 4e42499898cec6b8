#include "lib/tls/certificate.h"

#include "lib/memory.h"
#include "lib/tls/certificate_issue.h"
#include "tests/support/cm.h"

#include <errno.h>

#define DAY_S INT64_C(86400)
#define YEAR_2001_S INT64_C(978307200)
#define YEAR_2101_S INT64_C(4133980800)

static const char broken[] =
	"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

static struct {
	struct tls_material ours, other;
} scene;

/* mbedtls reads the machine's clock: 2001 is over, and 2101 has not come. */
static const struct certificate_validity valid = { YEAR_2001_S, YEAR_2101_S };
static const struct certificate_validity always = { YEAR_2001_S - DAY_S,
	YEAR_2101_S + DAY_S };
static const struct certificate_validity past = { YEAR_2001_S,
	YEAR_2001_S + DAY_S };
static const struct certificate_validity future = { YEAR_2101_S - DAY_S,
	YEAR_2101_S };

static int begin(void **state)
{
	(void)state;
	return certificate_make_authority(&scene.ours, "ours", &always, NULL) ==
				0 &&
			certificate_make_authority(&scene.other, "other",
				&always, NULL) == 0
		? 0
		: -1;
}

static int end(void **state)
{
	(void)state;
	tls_fini(&scene.ours);
	tls_fini(&scene.other);
	return 0;
}

static struct tls_material given_cert(struct certificate_validity validity)
{
	static const char *const names[] = { "a" };
	const struct certificate_request request = {
		.common_name = "a",
		.dns_names = names,
		.dns_count = 1,
		.validity = validity,
	};
	struct tls_material made = { 0 };
	struct error err;

	assert_int_equal(certificate_sign(&made, &request, &scene.ours, &err),
		0);
	return made;
}

static void assert_trust(const char *cert, const char *authorities, int result)
{
	struct error err = { .text = "" };

	assert_int_equal(certificate_check_trust(cert, authorities, &err),
		result);
	assert_true((err.text[0] == '\0') == (result == 0));
}

static void the_authority_that_has_signed_is_enough(void **state)
{
	scoped_free char *both =
		xasprintf("%s%s", scene.other.cert, scene.ours.cert);
	struct tls_material made = given_cert(valid);

	(void)state;
	assert_trust(made.cert, scene.ours.cert, 0);
	assert_trust(made.cert, both, 0);
	assert_trust(made.cert, made.cert, 0);
	tls_fini(&made);
}

static void another_authority_refuses(void **state)
{
	struct tls_material made = given_cert(valid);

	(void)state;
	assert_trust(made.cert, scene.other.cert, -EKEYREJECTED);
	tls_fini(&made);
}

static void a_certificate_has_its_time(void **state)
{
	struct tls_material early = given_cert(future);
	struct tls_material late = given_cert(past);

	(void)state;
	assert_trust(early.cert, scene.ours.cert, -EKEYEXPIRED);
	assert_trust(late.cert, scene.ours.cert, -EKEYEXPIRED);
	assert_trust(late.cert, scene.other.cert, -EKEYREJECTED);
	tls_fini(&early);
	tls_fini(&late);
}

static void what_cannot_be_read_is_not_judged(void **state)
{
	scoped_free char *some = xasprintf("%s%s", scene.other.cert, broken);
	scoped_free char *and_ours = xasprintf("%s%s", scene.ours.cert, broken);
	struct tls_material made = given_cert(valid);

	(void)state;
	assert_trust(made.cert, "", -EINVAL);
	assert_trust(made.cert, broken, -EINVAL);
	assert_trust("x", scene.ours.cert, -EINVAL);
	assert_trust(made.cert, some, -EINVAL);
	assert_trust(made.cert, and_ours, 0);
	tls_fini(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_authority_that_has_signed_is_enough),
		cmocka_unit_test(another_authority_refuses),
		cmocka_unit_test(a_certificate_has_its_time),
		cmocka_unit_test(what_cannot_be_read_is_not_judged),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
