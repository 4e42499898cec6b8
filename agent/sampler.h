/* Reads one report of the node: every field except those that only the agent
 * knows (seq, interval, clocks, KVM, its own cost and dropped reports). */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>

struct sampler;

/* The paths of the node's file systems; tests use a directory of their own. */
struct sampler_roots {
	const char *proc, *sys, *cgroup;
};

/* Opens the roots and reads the values that are constant until the next boot.
 * -ENOENT, -EACCES, -ENOTDIR: a root does not exist or cannot be read. -EMFILE,
 * -ENOMEM: it cannot be read now. */
must_check int sampler_new(struct sampler **out,
	const struct sampler_roots *roots, struct error *err);
void sampler_free(struct sampler *sampler); /* NULL is fine */

/* Fills *out, which report_fini() releases. now_us decides when to search for
 * pods. The state of a source that cannot be read is in the report. The first
 * report and every fifth after it include the node's slow values: what KSM
 * saves, and huge pages by NUMA node. agent/pods.h says which reports have the
 * slow values of a pod. */
void sampler_read(struct report *out, struct sampler *sampler, uint64_t now_us);

/* Why a source of the last report has the state error; code 0: none has. */
const struct error *sampler_last_error(const struct sampler *sampler);
