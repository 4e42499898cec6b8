/* TLS files that are read again when they change, so that no program restarts
 * for a new certificate.
 *
 * A set of files is used only if all of it can be read and the key is that of
 * the certificate; until then the old set stays, and the log has one sentence.
 * The watch looks every TLS_WATCH_MS, because a Secret volume replaces folders
 * and symbolic links in ways that no notification covers. It also logs when the
 * certificate expires within TLS_WATCH_WARN_DAYS. */
#pragma once

#include "lib/error.h"
#include "lib/tls/tls.h"

#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

enum { TLS_WATCH_MS = 5000, TLS_WATCH_WARN_DAYS = 30 };

/* The library that uses the material. mbedTLS, which nng uses, reads less than
 * GnuTLS and libcurl do: material of the others is not refused because of
 * it. */
enum tls_reader { TLS_READER_NNG, TLS_READER_OTHER };

struct tls_watch;

/* One user of the material. Zeroed, or filled in and added. */
struct tls_watcher {
	LIST_ENTRY(tls_watcher) link;
	/* Uses new material, which is borrowed for the call. An error is logged
	 * with its sentence, and all watchers are called again at the next
	 * look. */
	int (*set)(void *owner, const struct tls_material *material,
		struct error *err);
	void *owner;
};

/* Reads and checks the files, whose paths outlive the watch. use names them in
 * the log, for example "wire"; it outlives the watch.
 * -EINVAL: a file without PEM text, or with half of one; for nng also one that
 * cannot be read as certificates, and a key of another certificate; otherwise
 * the error of reading. */
must_check int tls_watch_new(struct tls_watch **out, uv_loop_t *loop,
	const struct tls_files *files, enum tls_reader reader, const char *use,
	struct error *err);

/* The material that all watchers use. Borrowed until the loop runs on. NULL is
 * fine: NULL. */
const struct tls_material *tls_watch_material(const struct tls_watch *watch);

/* When the certificate, or one of its chain, expires, in seconds since 1970; 0:
 * there is no certificate, or mbedtls cannot read it. NULL is fine: 0. */
int64_t tls_watch_expiry_s(const struct tls_watch *watch);

/* When the last of the trusted authorities expires, in seconds since 1970; 0:
 * there is none, or mbedtls cannot read one. NULL is fine: 0. */
int64_t tls_watch_ca_expiry_s(const struct tls_watch *watch);

/* From now on watcher->set() is called after each change. */
void tls_watch_add(struct tls_watch *watch, struct tls_watcher *watcher);

/* Fine if it is not added, or if the watch is closed. */
void tls_watch_remove(struct tls_watcher *watcher);

/* Checks the files now. */
void tls_watch_check(struct tls_watch *watch);

/* Removes all watchers. Frees itself; NULL is fine. */
void tls_watch_close(struct tls_watch *watch);
