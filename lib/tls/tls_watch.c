#include "lib/tls/tls_watch.h"

#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/tls/certificate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#define DAY_S INT64_C(86400)
#define WARN_EVERY_US (UINT64_C(86400) * 1000000)

enum {
	/* A file can be written twice within one tick of its time stamp, so the
	 * files are read again at the look after a change. */
	READS = 2,
	/* A set that is bad for one look only is one that is being replaced. */
	BAD_LOOKS = 2,
};

struct tls_watch {
	const struct tls_files *files;
	enum tls_reader reader;
	const char *use;
	struct timer *timer;
	struct tls_material material;
	uint64_t hash; /* of the material */
	uint64_t seen; /* hash of the files' states at the last look */
	unsigned int reads_left;
	unsigned int bad_looks; /* one after the other, of the same sentence */
	uint64_t bad_hash;	/* of the sentence */
	int64_t expiry_s;	/* 0: no certificate, or not known */
	bool is_partly_set;	/* some watchers use other material */
	bool is_expired;	/* and logged as such */
	struct log_limit warned;
	LIST_HEAD(tls_watchers, tls_watcher) watchers;
};

/* ---- files ---- */

static uint64_t hash_state(uint64_t seed, const char *path)
{
	struct stat st;
	uint64_t parts[6] = { 0 };

	if (path == NULL || stat(path, &st) != 0) {
		return hash_bytes(seed, parts, sizeof(parts));
	}
	parts[0] = st.st_dev;
	parts[1] = st.st_ino;
	parts[2] = (uint64_t)st.st_size;
	parts[3] = (uint64_t)st.st_mtim.tv_sec * UINT64_C(1000000000) +
		(uint64_t)st.st_mtim.tv_nsec;
	parts[4] = (uint64_t)st.st_ctim.tv_sec * UINT64_C(1000000000) +
		(uint64_t)st.st_ctim.tv_nsec;
	parts[5] = 1;
	return hash_bytes(seed, parts, sizeof(parts));
}

static uint64_t hash_states(const struct tls_files *files)
{
	uint64_t hash = hash_state(HASH_SEED, files->ca);

	hash = hash_state(hash, files->cert);
	return hash_state(hash, files->key);
}

static uint64_t hash_material(const struct tls_material *material)
{
	uint64_t hash = hash_text(HASH_SEED, material->ca);

	hash = hash_text(hash, material->cert);
	return hash_text(hash, material->key);
}

static int check_for_nng(const struct tls_files *files,
	const struct tls_material *material, int64_t *expiry_s,
	struct error *err)
{
	int r = 0;

	if (material->ca != NULL) {
		r = certificate_check_bundle(material->ca, err);
		r = r < 0 ? error_wrap(err, r, "'%s'", files->ca) : 0;
	}
	if (r == 0 && material->cert != NULL) {
		r = certificate_expiry(expiry_s, material->cert, err);
		r = r < 0 ? error_wrap(err, r, "'%s'", files->cert) : 0;
	}
	if (r == 0 && material->cert != NULL) {
		r = certificate_check_pair(material->cert, material->key, err);
		r = r < 0 ? error_wrap(err, r, "'%s' and '%s'", files->cert,
				    files->key)
			  : 0;
	}
	return r;
}

/* Whether the text is whole. Its users judge the rest. */
static int check_whole(const char *text, const char *file, struct error *err)
{
	return text == NULL || certificate_is_whole(text)
		? 0
		: error_set(err, -EINVAL, "'%s' ends within a part", file);
}

static int check_for_others(const struct tls_files *files,
	const struct tls_material *material, int64_t *expiry_s,
	struct error *err)
{
	int r = check_whole(material->ca, files->ca, err);

	if (r == 0) {
		r = check_whole(material->cert, files->cert, err);
	}
	if (r == 0) {
		r = check_whole(material->key, files->key, err);
	}
	if (r == 0 && material->cert != NULL &&
		certificate_expiry(expiry_s, material->cert, NULL) < 0 &&
		certificate_expiry_of_first(expiry_s, material->cert, NULL) <
			0) {
		*expiry_s = 0;
	}
	return r;
}

static int load(struct tls_material *out, int64_t *expiry_s,
	const struct tls_watch *watch, struct error *err)
{
	struct tls_material material = { 0 };
	int64_t at_s = 0;
	int r = tls_load(&material, watch->files, err);

	if (r == 0) {
		r = watch->reader == TLS_READER_NNG
			? check_for_nng(watch->files, &material, &at_s, err)
			: check_for_others(watch->files, &material, &at_s, err);
	}
	if (r < 0) {
		tls_fini(&material);
		return r;
	}
	*out = material;
	*expiry_s = at_s;
	return 0;
}

/* ---- the log ---- */

static char *expiry_text(char out[CLOCK_TEXT_MAX],
	const struct tls_watch *watch)
{
	return clock_text(out, (uint64_t)watch->expiry_s * 1000000);
}

static void log_expiry(struct tls_watch *watch)
{
	char text[CLOCK_TEXT_MAX];
	int64_t left_s = watch->expiry_s - (int64_t)(clock_wall_us() / 1000000);
	bool is_expired = left_s <= 0;
	uint64_t now_us = clock_monotonic_us();

	if (watch->expiry_s == 0 || left_s >= TLS_WATCH_WARN_DAYS * DAY_S) {
		return;
	}
	if (!log_allow(&watch->warned, now_us, WARN_EVERY_US, NULL) &&
		is_expired == watch->is_expired) {
		return;
	}
	watch->is_expired = is_expired;
	if (is_expired) {
		log_error("the certificate has expired",
			log_str("use", watch->use),
			log_str("file", watch->files->cert),
			log_str("expired", expiry_text(text, watch)), LOG_END);
	} else {
		log_warning("the certificate expires soon",
			log_str("use", watch->use),
			log_str("file", watch->files->cert),
			log_str("expires", expiry_text(text, watch)),
			log_int("days", left_s / DAY_S), LOG_END);
	}
}

/* Once for each sentence, and not for a set that is being replaced. */
static void log_bad(struct tls_watch *watch, const struct error *err)
{
	uint64_t hash = hash_text(HASH_SEED, err->text);

	if (hash != watch->bad_hash) {
		watch->bad_hash = hash;
		watch->bad_looks = 0;
	}
	if (watch->bad_looks < BAD_LOOKS) {
		watch->bad_looks++;
		if (watch->bad_looks == BAD_LOOKS) {
			log_warning(
				"cannot use the changed TLS files, keeping "
				"the old ones",
				log_str("use", watch->use), log_err(err),
				LOG_END);
		}
	}
}

static void log_unknown_expiry(const struct tls_watch *watch)
{
	if (watch->material.cert != NULL && watch->expiry_s == 0) {
		log_info("cannot read certificate expiry",
			log_str("use", watch->use),
			log_str("file", watch->files->cert), LOG_END);
	}
}

/* ---- changes ---- */

/* Stops at the first watcher that refuses the material. */
static int set_all(const struct tls_watch *watch,
	const struct tls_material *material, struct error *err)
{
	struct tls_watcher *watcher, *next;
	int r = 0;

	for (watcher = LIST_FIRST(&watch->watchers); r == 0 && watcher != NULL;
		watcher = next) {
		next = LIST_NEXT(watcher, link);
		r = watcher->set(watcher->owner, material, err);
	}
	return r;
}

static void log_change(const struct tls_watch *watch)
{
	char text[CLOCK_TEXT_MAX];

	log_info("TLS files changed and are in use", log_str("use", watch->use),
		log_str("expires",
			watch->expiry_s == 0 ? "" : expiry_text(text, watch)),
		LOG_END);
}

/* Takes ownership of the material. */
static void take(struct tls_watch *watch, const struct tls_material *material,
	uint64_t hash, int64_t expiry_s)
{
	tls_fini(&watch->material);
	watch->material = *material;
	watch->hash = hash;
	watch->expiry_s = expiry_s;
	watch->warned = (struct log_limit){ 0 };
	watch->is_expired = false;
	log_change(watch);
	log_unknown_expiry(watch);
}

static void read_again(struct tls_watch *watch)
{
	struct tls_material material = { 0 };
	struct error err = { 0 };
	int64_t expiry_s = 0;
	int r = load(&material, &expiry_s, watch, &err);
	uint64_t hash = r < 0 ? 0 : hash_material(&material);

	if (r == 0 && (hash != watch->hash || watch->is_partly_set)) {
		r = set_all(watch, &material, &err);
		watch->is_partly_set = r < 0;
	}
	if (r < 0) {
		watch->reads_left = READS; /* it may be half written */
		log_bad(watch, &err);
		tls_fini(&material);
		return;
	}
	watch->bad_hash = 0;
	if (hash == watch->hash) {
		tls_fini(&material);
		return;
	}
	take(watch, &material, hash, expiry_s);
}

void tls_watch_check(struct tls_watch *watch)
{
	uint64_t seen = hash_states(watch->files);

	if (seen != watch->seen) {
		watch->seen = seen;
		watch->reads_left = READS;
	}
	if (watch->reads_left > 0) {
		watch->reads_left--;
		read_again(watch);
	}
	log_expiry(watch);
}

static void on_timer(void *owner)
{
	tls_watch_check(owner);
}

int tls_watch_new(struct tls_watch **out, uv_loop_t *loop,
	const struct tls_files *files, enum tls_reader reader, const char *use,
	struct error *err)
{
	struct tls_watch *watch = xcalloc(1, sizeof(*watch));
	int r;

	watch->files = files;
	watch->reader = reader;
	watch->use = use;
	LIST_INIT(&watch->watchers);
	watch->seen = hash_states(files);
	r = load(&watch->material, &watch->expiry_s, watch, err);
	if (r < 0) {
		free(watch);
		return r;
	}
	watch->hash = hash_material(&watch->material);
	watch->reads_left = READS - 1;
	watch->timer = timer_new(loop, on_timer, watch);
	timer_start(watch->timer, TLS_WATCH_MS, TLS_WATCH_MS);
	log_expiry(watch);
	log_unknown_expiry(watch);
	*out = watch;
	return 0;
}

const struct tls_material *tls_watch_material(const struct tls_watch *watch)
{
	return watch == NULL ? NULL : &watch->material;
}

int64_t tls_watch_expiry_s(const struct tls_watch *watch)
{
	return watch == NULL ? 0 : watch->expiry_s;
}

int64_t tls_watch_ca_expiry_s(const struct tls_watch *watch)
{
	int64_t expiry_s = 0;

	return watch == NULL || watch->material.ca == NULL ||
			certificate_last_expiry(&expiry_s, watch->material.ca,
				NULL) < 0
		? 0
		: expiry_s;
}

void tls_watch_add(struct tls_watch *watch, struct tls_watcher *watcher)
{
	LIST_INSERT_HEAD(&watch->watchers, watcher, link);
}

void tls_watch_remove(struct tls_watcher *watcher)
{
	if (watcher->link.le_prev != NULL) {
		LIST_REMOVE(watcher, link);
		watcher->link.le_prev = NULL;
	}
}

void tls_watch_close(struct tls_watch *watch)
{
	if (watch == NULL) {
		return;
	}
	while (!LIST_EMPTY(&watch->watchers)) {
		tls_watch_remove(LIST_FIRST(&watch->watchers));
	}
	timer_close(watch->timer);
	tls_fini(&watch->material);
	free(watch);
}
