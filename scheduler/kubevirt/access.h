/* Whether this account may create and delete migrations:
 * SelfSubjectAccessReviews, repeated every few minutes, because rights are
 * given and taken while the scheduler runs. */
#pragma once

#include "lib/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct access;

#define ACCESS_AGAIN_US UINT64_C(300000000)
/* After a request without an answer. */
#define ACCESS_RETRY_US UINT64_C(10000000)

/* client outlives it. Never NULL. */
struct access *access_new(struct kube_client *client);
void access_close(struct access *access); /* NULL is fine */

/* Asks if it is time; to be called every few seconds. */
void access_poll(struct access *access, uint64_t now_us);

/* The last answers. False: appends one sentence why not. */
bool access_is_allowed(const struct access *access, struct buffer *why);
