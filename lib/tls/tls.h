/* PEM texts for one side of a TLS connection, read from files.
 *
 * Keys are overwritten before they are freed and never appear in errors. */
#pragma once

#include "lib/error.h"

/* From the command line; each may be NULL. */
struct tls_files {
	const char *ca;	  /* trusted authorities, one or more */
	const char *cert; /* own certificate; requires key */
	const char *key;
};

struct tls_material {
	char *ca, *cert, *key; /* owned; NULL if no file was given */
};

/* -EINVAL: cert without key or key without cert, or a file without PEM text;
 * otherwise the error of reading. The sentence names the file. */
must_check int tls_load(struct tls_material *out, const struct tls_files *files,
	struct error *err);

void tls_fini(struct tls_material *material); /* NULL and zeroed are fine */
