/* Takes one report of the node: everything but what the agent itself knows
 * (seq, interval, clocks, KVM, what was dropped). */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>

struct sampler;

/* Where the node's file systems are; a test gives it a tree of its own. */
struct sampler_roots {
	const char *proc, *sys, *cgroup;
};

/* Opens the roots, and reads what lasts until the next boot.
 * -ENOENT, -EACCES, -ENOTDIR: one of them is not there to read. */
must_check int sampler_new(struct sampler **out,
	const struct sampler_roots *roots, struct error *err);
void sampler_free(struct sampler *sampler); /* NULL is fine */

/* Fills *out, which report_fini() releases; now_us paces the search for pods.
 * Sources that cannot be read say so inside the report. The first report and
 * every fifth after it hold what is slow to read. */
void sampler_take(struct report *out, struct sampler *sampler, uint64_t now_us);

/* Why a source of the last report is in state error; code 0: none is. */
const struct error *sampler_trouble(const struct sampler *sampler);
