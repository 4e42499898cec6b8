#include "agent/meminfo.h"

#include <errno.h>
#include <unistd.h>

#include "agent/scan.h"
#include "lib/memory.h"

/* 1,600 bytes in Linux 6.18. */
enum { MEMINFO_MAX = 16 << 10 };

/* 4,000 bytes in Linux 6.18. */
enum { VMSTAT_MAX = 32 << 10 };

const struct memory meminfo_unknown = {
	.total_bytes = REPORT_UNKNOWN,
	.available_bytes = REPORT_UNKNOWN,
	.swap_total_bytes = REPORT_UNKNOWN,
	.swap_free_bytes = REPORT_UNKNOWN,
	.ksm_saved_bytes = REPORT_UNKNOWN,
	.swap_in_bytes = REPORT_UNKNOWN,
};

/* "kB" in this file means 1024 bytes. */
static uint64_t bytes_of(uint64_t kib)
{
	uint64_t bytes;

	if (kib == REPORT_UNKNOWN ||
		__builtin_mul_overflow(kib, 1024, &bytes)) {
		return REPORT_UNKNOWN;
	}
	return bytes;
}

int meminfo_parse(struct memory *out, const char *text, struct error *err)
{
	struct memory m = meminfo_unknown;
	const struct scan_field fields[] = {
		{ "MemTotal:", &m.total_bytes },
		{ "MemAvailable:", &m.available_bytes },
		{ "SwapTotal:", &m.swap_total_bytes },
		{ "SwapFree:", &m.swap_free_bytes },
	};

	(void)scan_keyed(text, fields, count_of(fields));
	for (size_t i = 0; i < count_of(fields); i++) {
		*fields[i].value = bytes_of(*fields[i].value);
	}
	m.state = SOURCE_PRESENT;
	if (m.total_bytes == REPORT_UNKNOWN) {
		return error_set(err, -EBADMSG, "no 'MemTotal' line");
	}
	*out = m;
	return 0;
}

void meminfo_read(struct memory *out, struct kernel_file *file,
	struct error *err)
{
	char text[MEMINFO_MAX];
	struct error why = { 0 };
	int r = kernel_file_read(file, text, sizeof(text), &why);

	if (r >= 0) {
		r = meminfo_parse(out, text, &why);
	}
	out->state = kernel_file_state(file, r, &why, err);
}

static uint64_t bytes_of_pages(uint64_t pages)
{
	uint64_t bytes;

	return __builtin_mul_overflow(pages, (uint64_t)sysconf(_SC_PAGESIZE),
		       &bytes)
		? REPORT_UNKNOWN
		: bytes;
}

int meminfo_parse_vmstat(uint64_t *out, const char *text, struct error *err)
{
	uint64_t pages = 0;
	const struct scan_field field = { "pswpin", &pages };

	if (scan_keyed(text, &field, 1) == 0) {
		return error_set(err, -EBADMSG, "no 'pswpin' line");
	}
	*out = bytes_of_pages(pages);
	return 0;
}

void meminfo_read_swap_in(struct memory *out, struct kernel_file *vmstat,
	struct error *err)
{
	char text[VMSTAT_MAX];
	struct error why = { 0 };
	int r;

	if (out->swap_total_bytes == REPORT_UNKNOWN ||
		out->swap_total_bytes == 0) {
		return;
	}
	r = kernel_file_read(vmstat, text, sizeof(text), &why);
	if (r >= 0) {
		r = meminfo_parse_vmstat(&out->swap_in_bytes, text, &why);
	}
	(void)kernel_file_state(vmstat, r, &why, err);
}

/* Documentation/admin-guide/mm/ksm.rst: "how many more sites are sharing them
 * i.e. how much saved". */
void meminfo_read_ksm(struct memory *out, struct kernel_file *file,
	struct error *err)
{
	struct error why = { 0 };
	uint64_t pages = 0;
	int r = kernel_file_number(&pages, file, &why);

	if (kernel_file_state(file, r, &why, err) == SOURCE_PRESENT) {
		out->ksm_saved_bytes = bytes_of_pages(pages);
	}
}
