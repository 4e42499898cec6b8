#include "agent/meminfo.h"

#include <errno.h>

#include "agent/scan.h"
#include "lib/memory.h"

/* 1,600 bytes in Linux 6.18. */
enum { MEMINFO_MAX = 16 << 10 };

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
	struct memory m = {
		.state = SOURCE_PRESENT,
		.total_bytes = REPORT_UNKNOWN,
		.available_bytes = REPORT_UNKNOWN,
		.swap_total_bytes = REPORT_UNKNOWN,
		.swap_free_bytes = REPORT_UNKNOWN,
		.ksm_saved_bytes = REPORT_UNKNOWN,
	};
	const struct scan_want want[] = {
		{ "MemTotal:", &m.total_bytes },
		{ "MemAvailable:", &m.available_bytes },
		{ "SwapTotal:", &m.swap_total_bytes },
		{ "SwapFree:", &m.swap_free_bytes },
	};

	(void)scan_keyed(text, want, count_of(want));
	for (size_t i = 0; i < count_of(want); i++) {
		*want[i].value = bytes_of(*want[i].value);
	}
	if (m.total_bytes == REPORT_UNKNOWN) {
		return error_set(err, -EBADMSG, "no 'MemTotal' line");
	}
	*out = m;
	return 0;
}

void meminfo_read(struct memory *out, struct kept_file *file, struct error *err)
{
	char text[MEMINFO_MAX];
	struct error why = { 0 };
	int r = kept_file_read(file, text, sizeof(text), &why);

	if (r >= 0) {
		r = meminfo_parse(out, text, &why);
	}
	out->state = kept_file_settle(file, r, &why, err);
}
