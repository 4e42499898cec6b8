/* Certificates for tests: deploy/certs.sh makes them, as for an operator, in a
 * folder of the test's own. */
#pragma once

struct certs {
	char dir[32];
};

/* Makes a folder with new authorities and certificates. */
void certs_new(struct certs *certs, int days);

/* Runs the script again: "renew", "rotate", "retire". */
void certs_run(const struct certs *certs, const char *command, int days);

/* The path of a file in the folder; the caller frees it. */
char *certs_path(const struct certs *certs, const char *name);

/* The text of a file in the folder; the caller frees it. */
char *certs_text(const struct certs *certs, const char *name);

/* Replaces a file by a text, in place. */
void certs_write(const struct certs *certs, const char *name, const char *text);

void certs_remove(const struct certs *certs); /* with the folder */
