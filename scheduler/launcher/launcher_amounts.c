#include "scheduler/launcher/launcher_amounts.h"

#include <inttypes.h>
#include <stdio.h>

#define MIB (INT64_C(1) << 20)
#define MB INT64_C(1000000)

/* KubeVirt's GetMemoryOverhead(), in 1.9
 * pkg/hypervisor/kvm/hypervisorbackend.go, before that
 * pkg/virt-controller/services/renderresources.go: virt-launcher-monitor 25,
 * virt-launcher 100, virtlogd 25, virtqemud 40, QEMU 50, an I/O thread 8, the
 * video memory 32. The tag 1.9.0 counts 30 for QEMU, its main branch 50: what
 * fits with 50 fits with 30. Page tables, 1/512 of the memory, count only for
 * VMs with spec.domain.resources.requests.memory. */
#define OVERHEAD_BYTES (280 * MIB)
#define OVERHEAD_VCPU_BYTES (8 * MIB)
#define OVERHEAD_GUARANTEED_BYTES (100 * MIB)
#define VIDEO_BYTES (32 * MIB) /* of the above */

/* KubeVirt's, in services/serialconsolelog.go, services/renderresources.go,
 * container-disk/container-disk.go and virtiofs/resources.go. */
static const struct launcher_support_amounts support_defaults[] = {
	[LAUNCHER_SUPPORT_DISK] = { 1000, MB, 10000, 40 * MB },
	[LAUNCHER_SUPPORT_LOG] = { 5000, 35 * MB, 15000, 60 * MB },
	[LAUNCHER_SUPPORT_HOOK] = { 0, 0, 200000, 64 * MB },
	[LAUNCHER_SUPPORT_VIRTIOFS] = { 10000, MB, 100000, 80 * MB },
};

/* Quantity.ScaledValue(Kilo) rounds up; int64(float64) cuts. */
static int64_t multiplied(int64_t bytes, double ratio)
{
	int64_t kilobytes = (bytes + 999) / 1000;

	return bytes + (int64_t)((double)kilobytes * (ratio - 1)) * 1000;
}

static int64_t divided(int64_t dividend, int64_t divisor)
{
	return (dividend + divisor - 1) / divisor;
}

bool launcher_needs_guaranteed(const struct launcher_needs *needs)
{
	return needs->is_dedicated || needs->is_guaranteed;
}

/* The API server lets a container without a request request its limit, which a
 * sidecar has only if the CR gives it one. */
static int64_t requested(int64_t request, int64_t limit,
	int64_t default_request)
{
	if (request > 0) {
		return request;
	}
	return default_request > 0 ? default_request : limit;
}

struct launcher_support_amounts launcher_support_of(enum launcher_support kind,
	bool is_guaranteed, const struct launcher_settings *settings)
{
	const struct launcher_support_amounts *set = &settings->supports[kind];
	const struct launcher_support_amounts *usual = &support_defaults[kind];

	if (is_guaranteed) {
		return (struct launcher_support_amounts){
			.micro = set->limit_micro > 0 ? set->limit_micro
						      : usual->limit_micro,
			.bytes = set->limit_bytes > 0 ? set->limit_bytes
						      : usual->limit_bytes,
		};
	}
	return (struct launcher_support_amounts){
		.micro = requested(set->micro, set->limit_micro, usual->micro),
		.bytes = requested(set->bytes, set->limit_bytes, usual->bytes),
	};
}

/* Page tables: KubeVirt rounds the memory up to kilobytes before. */
static int64_t pages_of(int64_t bytes)
{
	return divided(bytes, 1000) * 1000 / 512;
}

int64_t launcher_amounts_overhead(const struct launcher_needs *needs,
	const struct launcher_settings *settings)
{
	int64_t bytes = OVERHEAD_BYTES + OVERHEAD_VCPU_BYTES * needs->vcpus;

	bytes += pages_of(needs->requested_bytes);
	bytes += launcher_needs_guaranteed(needs) ? OVERHEAD_GUARANTEED_BYTES
						  : 0;
	bytes -= needs->has_graphics ? 0 : VIDEO_BYTES;
	bytes += needs->extra_bytes;
	return multiplied(bytes, settings->overhead_ratio) +
		needs->binding_bytes;
}

/* WithCPUPinning(). */
static unsigned dedicated_of(const struct launcher_needs *needs)
{
	unsigned cpus = needs->vcpus + needs->io_threads;
	unsigned pool = needs->has_supplemental_pool ? needs->io_threads : 0;

	if (!needs->isolates_emulator) {
		return cpus;
	}
	return cpus +
		(needs->completes_parity && (cpus + pool) % 2 == 0 ? 2 : 1);
}

static int64_t micro_of(const struct launcher_needs *needs,
	const struct launcher_settings *settings)
{
	if (needs->is_dedicated) {
		return INT64_C(1000000) * dedicated_of(needs);
	}
	return needs->requested_micro > 0
		? needs->requested_micro
		: divided(INT64_C(1000000) * (needs->vcpus + needs->io_threads),
			  settings->cpu_allocation_ratio);
}

/* Huge pages hold the guest, or with a memoryOvercommit a part of it: KubeVirt
 * requests no more, although QEMU needs pages for all of it. Memory that the VM
 * requests beyond its guest is ordinary memory. */
struct launcher_amounts launcher_amounts_of(const struct launcher_needs *needs,
	const struct launcher_settings *settings)
{
	int64_t overhead = launcher_amounts_overhead(needs, settings);
	int64_t guest = needs->requested_bytes > 0 ? needs->requested_bytes
		: needs->limit_bytes > 0
		? needs->limit_bytes
		: needs->guest_bytes * 100 / settings->memory_overcommit;
	int64_t pages = guest < needs->guest_bytes ? guest : needs->guest_bytes;
	struct launcher_amounts amounts = {
		.micro = micro_of(needs, settings),
		.bytes = guest - (needs->has_pages ? pages : 0) +
			(needs->leaves_overhead_out && !needs->has_pages
					? 0
					: overhead),
		.page_bytes = needs->has_pages ? pages : 0,
	};

	if (needs->has_log) {
		struct launcher_support_amounts log =
			launcher_support_of(LAUNCHER_SUPPORT_LOG,
				launcher_needs_guaranteed(needs), settings);

		amounts.log_micro = log.micro;
		amounts.log_bytes = log.bytes;
	}
	return amounts;
}

void launcher_amount_write(struct json *j, const char *key, int64_t amount,
	const char *unit)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "%" PRId64 "%s", amount, unit);
	json_string(j, key, text);
}
