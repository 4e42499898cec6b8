/* Probes KVM again and again, on a thread of its own.
 *
 * The kernel may hold the thread for ever: then the answer is run_failed with
 * ETIMEDOUT, no further probe is started, and should the thread come back its
 * late result counts after all. Closing does not wait for it. */
#pragma once

#include "agent/kvm.h"
#include "proto/report.h"

#include <stdint.h>
#include <uv.h>

struct kvm_prober;

/* The probe itself, on the thread: kvm_probe(), or what a test puts there. */
typedef void (*kvm_probe_body)(struct kvm *out, const struct kvm_plan *plan);

/* Called on the loop's thread for each result; may close the prober. */
typedef void (*kvm_probed)(void *owner, const struct kvm *kvm);

struct kvm_prober_options {
	kvm_probe_body body;
	/* Its directories stay open until the prober is closed. */
	struct kvm_plan plan;
	uint64_t every_ms, timeout_ms;
	kvm_probed probed;
	void *owner; /* outlives the prober */
};

/* Starts the first probe at once. Never NULL. */
struct kvm_prober *kvm_prober_new(uv_loop_t *loop,
	const struct kvm_prober_options *options);

/* No result is given any more; frees itself. NULL is fine. */
void kvm_prober_close(struct kvm_prober *prober);
