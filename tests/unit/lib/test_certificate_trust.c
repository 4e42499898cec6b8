#include "lib/certificate_trust.h"

#include "lib/certificate_issue.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>

#define DAY_S INT64_C(86400)

static const char broken[] =
	"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

static struct {
	struct tls_material ours, other;
} scene;

/* From yesterday until these days from now. */
static struct certificate_validity until(int days)
{
	int64_t now_s = (int64_t)(clock_wall_us() / 1000000);

	return (struct certificate_validity){ now_s - DAY_S,
		now_s + days * DAY_S };
}

static int begin(void **state)
{
	struct certificate_validity validity = until(10);

	(void)state;
	return certificate_make_authority(&scene.ours, "ours", &validity,
		       NULL) == 0 &&
			certificate_make_authority(&scene.other, "other",
				&validity, NULL) == 0
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
	struct tls_material made = given_cert(until(5));

	(void)state;
	assert_trust(made.cert, scene.ours.cert, 0);
	assert_trust(made.cert, both, 0);
	assert_trust(made.cert, made.cert, 0);
	tls_fini(&made);
}

static void another_authority_refuses(void **state)
{
	struct tls_material made = given_cert(until(5));

	(void)state;
	assert_trust(made.cert, scene.other.cert, -EKEYREJECTED);
	tls_fini(&made);
}

static void a_certificate_has_its_time(void **state)
{
	struct certificate_validity later = until(5);
	struct tls_material past, future;

	(void)state;
	later.from_s += 2 * DAY_S;
	future = given_cert(later);
	later = until(5);
	later.from_s -= DAY_S;
	later.until_s = later.from_s + DAY_S / 2;
	past = given_cert(later);
	assert_trust(future.cert, scene.ours.cert, -EKEYEXPIRED);
	assert_trust(past.cert, scene.ours.cert, -EKEYEXPIRED);
	assert_trust(past.cert, scene.other.cert, -EKEYREJECTED);
	tls_fini(&future);
	tls_fini(&past);
}

static void what_cannot_be_read_is_not_judged(void **state)
{
	scoped_free char *some = xasprintf("%s%s", scene.other.cert, broken);
	scoped_free char *and_ours = xasprintf("%s%s", scene.ours.cert, broken);
	struct tls_material made = given_cert(until(5));

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
