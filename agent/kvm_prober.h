/* Probes KVM periodically on a separate thread.
 *
 * The kernel may block the thread forever, or the guest may never stop. Once
 * the thread has used cpu_ms of CPU time, or wall_ms have passed, the result is
 * run_failed with ETIMEDOUT, and no further probe starts. This result comes
 * again and again. If the thread returns later, its result is used. Closing
 * does not wait for the thread. */
#pragma once

#include "agent/kvm.h"
#include "proto/report.h"

#include <stdint.h>
#include <uv.h>

struct kvm_prober;

/* The probe, which runs on the thread: kvm_probe(), or a fake in tests. */
typedef void (*kvm_probe_body)(struct kvm *out, const struct kvm_plan *plan);

/* Called on the thread of the event loop for each result; may close the
 * prober. */
typedef void (*kvm_probed)(void *owner, const struct kvm *kvm);

struct kvm_prober_options {
	kvm_probe_body body;
	/* Its directories stay open until the prober is closed. */
	struct kvm_plan plan;
	/* A thread that waits for a CPU uses no CPU time: a busy node is no
	 * broken one. */
	uint64_t every_ms, cpu_ms, wall_ms;
	kvm_probed probed;
	void *owner; /* outlives the prober */
};

/* Starts the first probe at once. Never NULL. */
struct kvm_prober *kvm_prober_new(uv_loop_t *loop,
	const struct kvm_prober_options *options);

/* No callback follows. Frees itself. NULL is fine. */
void kvm_prober_close(struct kvm_prober *prober);
