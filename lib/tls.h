/* The PEM texts of one side of TLS connections, read from files.
 *
 * Keys are overwritten before they are freed and never part of a sentence. */
#pragma once

#include "lib/error.h"

/* As given on the command line; each may be NULL. */
struct tls_files {
	const char *ca;	  /* whom to trust; several certificates are fine */
	const char *cert; /* who we are; with key or not at all */
	const char *key;
};

struct tls_material {
	char *ca, *cert, *key; /* owned; NULL where no file was given */
};

/* -EINVAL: cert without key or the other way round, or a file that holds no
 * PEM; else what reading said. The sentence names the file. */
must_check int tls_load(struct tls_material *out, const struct tls_files *files,
	struct error *err);

void tls_fini(struct tls_material *material); /* NULL, zeroed are fine */
