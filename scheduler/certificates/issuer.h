/* Makes the certificates of an installation, with these kinds of requests, one
 * after the other:
 *
 * 1. An empty PATCH of Secret plimsoll-ca, whose answer is the Secret.
 * 2. If it holds no authorities, or some that end soon: a PATCH that stores new
 *    ones, or their new certificates. The version of the Secret is its
 *    precondition, so of two processes one succeeds; the other reads again.
 *    Authorities that exist are never overwritten.
 * 3. A PATCH of each program's Secret with a new certificate. With renew_days,
 *    an empty one comes before it, and a certificate that is good for longer is
 *    kept.
 * 4. A PATCH of the webhook configuration with the servers' authority.
 * 5. The same of the APIService.
 *
 * PATCH is the only verb, so that the account needs no right to read. A request
 * that fails is repeated, because rights and objects are often made in the same
 * second. */
#pragma once

#include "scheduler/certificates/config.h"

#include <stdbool.h>

struct issuer;
struct kube_client;

/* All requests together have this time. */
enum { ISSUER_GIVE_UP_MS = 300000 };

/* on_done is called once, later: everything is written, or the reason why not
 * is in the log. client and config outlive the issuer. Never NULL. */
struct issuer *issuer_new(struct kube_client *client,
	const struct certificates_config *config,
	void (*on_done)(void *owner, bool succeeded), void *owner);

void issuer_close(struct issuer *issuer); /* NULL is fine */
