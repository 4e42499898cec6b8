#include "lib/tls/tls_watch.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "tests/support/certs.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY_US (UINT64_C(86400) * 1000000)

enum { DAYS = 365 };

struct fixture {
	struct certs certs;
	struct tls_files files;
	uv_loop_t loop;
	struct tls_watch *watch;
	struct tls_watcher watcher;
	int set; /* calls */
	int refusals_left;
	char *cert; /* of the last call */
};

/* The log's messages. */
static int warnings, errors;
static char last_err[512];

void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields);

void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields)
{
	(void)file;
	(void)line;
	(void)message;
	warnings += level == LOG_WARNING;
	errors += level == LOG_ERROR;
	for (; fields->key != NULL; fields++) {
		if (strcmp(fields->key, "err") == 0) {
			(void)snprintf(last_err, sizeof(last_err), "%s",
				fields->text);
		}
	}
}

/* How often the files were read. */
static int reads;

int __real_tls_load(struct tls_material *out, const struct tls_files *files,
	struct error *err);
int __wrap_tls_load(struct tls_material *out, const struct tls_files *files,
	struct error *err);

int __wrap_tls_load(struct tls_material *out, const struct tls_files *files,
	struct error *err)
{
	reads++;
	return __real_tls_load(out, files, err);
}

static int on_set(void *owner, const struct tls_material *material,
	struct error *err)
{
	struct fixture *f = owner;

	f->set++;
	if (f->refusals_left > 0) {
		f->refusals_left--;
		return error_set(err, -EINVAL, "refused by its user");
	}
	free(f->cert);
	f->cert = xstrdup(material->cert);
	return 0;
}

static void start(struct fixture *f, int days)
{
	certs_new(&f->certs, days);
	f->files = (struct tls_files){
		.ca = certs_path(&f->certs, "clients-ca.crt"),
		.cert = certs_path(&f->certs, "aggregator.crt"),
		.key = certs_path(&f->certs, "aggregator.key"),
	};
	assert_int_equal(tls_watch_new(&f->watch, &f->loop, &f->files,
				 TLS_READER_NNG, "wire", NULL),
		0);
	f->watcher.set = on_set;
	f->watcher.owner = f;
	tls_watch_add(f->watch, &f->watcher);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	warnings = errors = reads = 0;
	last_err[0] = '\0';
	assert_int_equal(uv_loop_init(&f->loop), 0);
	*state = f;
	return 0;
}

static void free_path(const char *path)
{
	char *owned;

	memcpy(&owned, &path, sizeof(owned));
	free(owned);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tls_watch_remove(&f->watcher);
	tls_watch_close(f->watch);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	certs_remove(&f->certs);
	free_path(f->files.ca);
	free_path(f->files.cert);
	free_path(f->files.key);
	free(f->cert);
	free(f);
	return 0;
}

static void look(const struct fixture *f, int times)
{
	for (int i = 0; i < times; i++) {
		tls_watch_check(f->watch);
	}
}

static void assert_in_use(const struct fixture *f, const char *cert)
{
	assert_string_equal(tls_watch_material(f->watch)->cert, cert);
}

static void renewed_files_are_handed_over_once(void **state)
{
	struct fixture *f = *state;
	scoped_free char *cert = NULL;

	start(f, DAYS);
	look(f, 3);
	assert_int_equal(f->set, 0);
	certs_run(&f->certs, "renew", 2 * DAYS);
	look(f, 5);
	assert_int_equal(f->set, 1);
	cert = certs_text(&f->certs, "aggregator.crt");
	assert_string_equal(f->cert, cert);
	assert_in_use(f, cert);
	assert_true((uint64_t)tls_watch_expiry_s(f->watch) * 1000000 >
		clock_wall_us() + (UINT64_C(2) * DAYS - 1) * DAY_US);
	assert_true((uint64_t)tls_watch_ca_expiry_s(f->watch) * 1000000 >
		clock_wall_us() + (UINT64_C(10) * DAYS - 1) * DAY_US);
	assert_int_equal(tls_watch_ca_expiry_s(NULL), 0);
	assert_int_equal(warnings + errors, 0);
}

/* The file system may give two changes the same time. */
static void files_are_read_at_two_looks_after_a_change(void **state)
{
	struct fixture *f = *state;
	scoped_free char *cert = NULL;

	start(f, DAYS);
	assert_int_equal(reads, 1);
	look(f, 5);
	assert_int_equal(reads, 2);
	cert = certs_text(&f->certs, "aggregator.crt");
	certs_write(&f->certs, "aggregator.crt", "half of a certif");
	look(f, 5);
	assert_int_equal(reads, 2 + 5); /* until it is whole */
	certs_write(&f->certs, "aggregator.crt", cert);
	look(f, 5);
	assert_int_equal(reads, 2 + 5 + 2);
}

static void refused_material_is_not_in_use_and_is_tried_again(void **state)
{
	struct fixture *f = *state;
	scoped_free char *old = NULL;
	scoped_free char *cert = NULL;
	int64_t expiry_s;

	start(f, DAYS);
	old = certs_text(&f->certs, "aggregator.crt");
	expiry_s = tls_watch_expiry_s(f->watch);
	certs_run(&f->certs, "renew", 2 * DAYS);
	f->refusals_left = 3;
	look(f, 3);
	assert_int_equal(f->set, 3);
	assert_in_use(f, old);
	assert_int_equal(tls_watch_expiry_s(f->watch), expiry_s);
	assert_int_equal(warnings, 1);
	assert_string_equal(last_err, "refused by its user");
	look(f, 3);
	cert = certs_text(&f->certs, "aggregator.crt");
	assert_int_equal(f->set, 4);
	assert_in_use(f, cert);
	assert_true(tls_watch_expiry_s(f->watch) > expiry_s);
}

/* Some may use the new material already. */
static void files_that_return_after_a_refusal_are_handed_over_again(
	void **state)
{
	struct fixture *f = *state;
	scoped_free char *cert = NULL;
	scoped_free char *key = NULL;

	start(f, DAYS);
	cert = certs_text(&f->certs, "aggregator.crt");
	key = certs_text(&f->certs, "aggregator.key");
	certs_run(&f->certs, "renew", DAYS);
	f->refusals_left = 1;
	look(f, 1);
	certs_write(&f->certs, "aggregator.crt", cert);
	certs_write(&f->certs, "aggregator.key", key);
	look(f, 3);
	assert_int_equal(f->set, 2);
	assert_string_equal(f->cert, cert);
}

/* DER that is no certificate stands for one of an algorithm, or with a critical
 * extension, that mbedtls does not know. */
static const char unknown_to_mbedtls[] =
	"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";

static void only_nng_needs_certificates_that_mbedtls_reads(void **state)
{
	struct fixture *f = *state;
	struct tls_watch *watch = NULL;
	struct tls_files files;
	struct error err;
	scoped_free char *leaf = NULL;
	scoped_free char *chain = NULL;

	start(f, DAYS);
	files = f->files;
	leaf = certs_text(&f->certs, "aggregator.crt");
	chain = xasprintf("%s%s", leaf, unknown_to_mbedtls);
	certs_write(&f->certs, "clients-ca.crt", unknown_to_mbedtls);
	assert_int_equal(tls_watch_new(&watch, &f->loop, &files, TLS_READER_NNG,
				 "wire", &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "mbedtls error -0x"));
	certs_write(&f->certs, "aggregator.crt", chain);
	assert_int_equal(tls_watch_new(&watch, &f->loop, &files,
				 TLS_READER_OTHER, "http", &err),
		0);
	assert_int_equal(tls_watch_expiry_s(watch),
		tls_watch_expiry_s(f->watch));
	certs_write(&f->certs, "aggregator.crt", unknown_to_mbedtls);
	tls_watch_check(watch);
	assert_int_equal(tls_watch_expiry_s(watch), 0);
	certs_write(&f->certs, "aggregator.crt", "-----BEGIN CERTIFICATE-----");
	look(f, 1);
	tls_watch_check(watch);
	assert_string_equal(tls_watch_material(watch)->cert,
		unknown_to_mbedtls);
	tls_watch_close(watch);
}

static void another_bundle_of_authorities_is_handed_over(void **state)
{
	struct fixture *f = *state;

	start(f, DAYS);
	certs_run(&f->certs, "rotate", DAYS);
	look(f, 2);
	assert_int_equal(f->set, 1);
}

static void a_key_that_does_not_fit_yet_keeps_the_old_pair(void **state)
{
	struct fixture *f = *state;
	scoped_free char *old = NULL;
	scoped_free char *key = NULL;

	start(f, DAYS);
	old = certs_text(&f->certs, "aggregator.crt");
	key = certs_text(&f->certs, "aggregator.key");
	certs_run(&f->certs, "renew", DAYS);
	{
		scoped_free char *new_key =
			certs_text(&f->certs, "aggregator.key");

		certs_write(&f->certs, "aggregator.key", key);
		look(f, 1);
		assert_int_equal(warnings, 0); /* it may be half replaced */
		look(f, 10);
		assert_in_use(f, old);
		assert_int_equal(f->set, 0);
		assert_int_equal(warnings, 1);
		assert_non_null(strstr(last_err,
			"the key is not that of the certificate"));
		certs_write(&f->certs, "aggregator.key", new_key);
	}
	look(f, 2);
	assert_int_equal(f->set, 1);
}

static void a_half_written_or_missing_file_keeps_the_old_one(void **state)
{
	struct fixture *f = *state;
	scoped_free char *cert = NULL;
	scoped_free char *half = NULL;
	scoped_free char *path = NULL;

	start(f, DAYS);
	cert = certs_text(&f->certs, "aggregator.crt");
	half = xstrndup(cert, strlen(cert) / 2);
	path = certs_path(&f->certs, "aggregator.crt");
	certs_write(&f->certs, "aggregator.crt", half);
	look(f, 5);
	assert_in_use(f, cert);
	assert_int_equal(warnings, 1);
	assert_int_equal(unlink(path), 0);
	look(f, 5);
	assert_in_use(f, cert);
	assert_int_equal(warnings, 2);
	assert_non_null(strstr(last_err, "No such file"));
	certs_write(&f->certs, "aggregator.crt", cert);
	look(f, 5);
	assert_int_equal(f->set, 0);
	assert_int_equal(warnings, 2);
}

/* The kubelet writes a new folder and replaces a symbolic link to it. */
static void a_secret_volume_that_changes_its_link_is_noticed(void **state)
{
	static const char *const names[] = { "ca", "cert", "key" };
	struct fixture *f = *state;
	struct certs old;
	scoped_free char *link = NULL;
	scoped_free char *new_link = NULL;
	struct tls_files files;
	char *paths[count_of(names)];
	static const char *const targets[] = { "clients-ca.crt",
		"aggregator.crt", "aggregator.key" };

	start(f, DAYS);
	certs_new(&old, DAYS);
	link = certs_path(&f->certs, "..data");
	new_link = certs_path(&f->certs, "..data_new");
	assert_int_equal(symlink(old.dir, link), 0);
	for (size_t i = 0; i < count_of(names); i++) {
		paths[i] = xasprintf("%s/%s", link, targets[i]);
	}
	files = (struct tls_files){ paths[0], paths[1], paths[2] };
	tls_watch_close(f->watch);
	assert_int_equal(tls_watch_new(&f->watch, &f->loop, &files,
				 TLS_READER_NNG, "wire", NULL),
		0);
	tls_watch_add(f->watch, &f->watcher);
	assert_int_equal(symlink(f->certs.dir, new_link), 0);
	assert_int_equal(rename(new_link, link), 0);
	look(f, 2);
	assert_int_equal(f->set, 1);
	tls_watch_close(take_ptr(f->watch));
	for (size_t i = 0; i < count_of(names); i++) {
		free(paths[i]);
	}
	certs_remove(&old);
}

static void a_certificate_that_expires_soon_is_logged_once_a_day(void **state)
{
	struct fixture *f = *state;

	start(f, TLS_WATCH_WARN_DAYS - 10);
	assert_int_equal(warnings, 1);
	look(f, 5);
	assert_int_equal(warnings, 1);
	fake_clock_move(DAY_US + 1);
	look(f, 5);
	assert_int_equal(warnings, 2);
	fake_clock_move(19 * DAY_US); /* just expired */
	look(f, 5);
	assert_int_equal(errors, 1);
	fake_clock_move(1000000);
	look(f, 1);
	assert_int_equal(errors, 1);
	certs_run(&f->certs, "renew", DAYS);
	look(f, 5);
	assert_int_equal(warnings, 2);
	assert_int_equal(errors, 1);
}

static void a_certificate_of_a_year_is_not_logged(void **state)
{
	struct fixture *f = *state;

	start(f, DAYS);
	look(f, 1);
	assert_int_equal(warnings + errors, 0);
}

static void bad_files_at_the_start_are_an_error_with_a_sentence(void **state)
{
	struct fixture *f = *state;
	struct tls_watch *watch = NULL;
	scoped_free char *agent_key = NULL;
	struct tls_files files;
	struct error err;

	start(f, DAYS);
	agent_key = certs_path(&f->certs, "agent.key");
	files = f->files;
	files.key = agent_key;
	assert_int_equal(tls_watch_new(&watch, &f->loop, &files, TLS_READER_NNG,
				 "wire", &err),
		-EINVAL);
	assert_non_null(strstr(err.text, agent_key));
	files.key = NULL;
	assert_int_equal(tls_watch_new(&watch, &f->loop, &files, TLS_READER_NNG,
				 "wire", &err),
		-EINVAL);
	files.key = "/nowhere";
	assert_int_equal(tls_watch_new(&watch, &f->loop, &files, TLS_READER_NNG,
				 "wire", &err),
		-ENOENT);
	files = f->files;
	certs_write(&f->certs, "clients-ca.crt", "no certificate");
	assert_int_equal(tls_watch_new(&watch, &f->loop, &files,
				 TLS_READER_OTHER, "http", &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "clients-ca.crt' contains no PEM"));
	assert_null(watch);
}

#define WATCH_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WATCH_TEST(renewed_files_are_handed_over_once),
		WATCH_TEST(files_are_read_at_two_looks_after_a_change),
		WATCH_TEST(refused_material_is_not_in_use_and_is_tried_again),
		WATCH_TEST(
			files_that_return_after_a_refusal_are_handed_over_again),
		WATCH_TEST(only_nng_needs_certificates_that_mbedtls_reads),
		WATCH_TEST(another_bundle_of_authorities_is_handed_over),
		WATCH_TEST(a_key_that_does_not_fit_yet_keeps_the_old_pair),
		WATCH_TEST(a_half_written_or_missing_file_keeps_the_old_one),
		WATCH_TEST(a_secret_volume_that_changes_its_link_is_noticed),
		WATCH_TEST(
			a_certificate_that_expires_soon_is_logged_once_a_day),
		WATCH_TEST(a_certificate_of_a_year_is_not_logged),
		WATCH_TEST(bad_files_at_the_start_are_an_error_with_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
