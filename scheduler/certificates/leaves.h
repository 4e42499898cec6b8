/* The certificates of plimsoll's programs: the Secret of each, its names and
 * its authority. Pure. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/tls/certificate_issue.h"
#include "scheduler/certificates/authorities.h"
#include "scheduler/certificates/config.h"

#include <stdbool.h>
#include <stddef.h>

struct leaf {
	const char *secret;
	const char *name; /* of the Service; for a client its only DNS name */
	enum certificate_use use;
	bool is_of_agents; /* the Secret is in the agents' namespace */
};

enum { LEAVES = 4 };
extern const struct leaf leaves[LEAVES];

const char *leaf_namespace(const struct leaf *leaf,
	const struct certificates_config *config);

/* When a certificate that is kept ends: after the one and not after the other,
 * in seconds since 1970. One that ends later than a new one would was made by a
 * clock that was ahead, and may not be valid yet. */
struct leaf_ends {
	int64_t after_s, last_s;
};

/* Whether the Secret, a JSON text, holds the certificate that its owner needs:
 * the first certificate of its authority has signed it, its key is there, and
 * so is the authority that its owner has to trust. False for texts that cannot
 * be read. */
bool leaf_is_current(const struct leaf *leaf,
	const struct authorities *authorities, const char *secret, size_t len,
	const struct leaf_ends *ends);

/* Signs a certificate with a new key and appends the merge patch that stores
 * both in the Secret, with the authority that its owner has to trust. For the
 * codes see certificate_sign(). */
must_check int leaf_write(struct buffer *out, const struct leaf *leaf,
	const struct certificates_config *config,
	const struct authorities *authorities,
	const struct certificate_validity *validity, struct error *err);
