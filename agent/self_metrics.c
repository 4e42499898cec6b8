#include "agent/self_metrics.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/scan.h"
#include "lib/files.h"

enum { STATM_MAX = 256 };

static uint64_t us_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

void self_metrics_read(struct own_cost *out, const char *statm)
{
	char text[STATM_MAX];
	struct scan s = { .at = text };
	struct rusage usage;
	uint64_t size;
	uint64_t resident;

	if (getrusage(RUSAGE_SELF, &usage) == 0) {
		out->cpu_us = us_of(&usage.ru_utime) + us_of(&usage.ru_stime);
	}
	/* proc(5): "size resident ...", in pages. */
	if (file_read_at(text, sizeof(text), AT_FDCWD, statm, NULL) >= 0 &&
		scan_u64(&s, &size) && scan_text(&s, " ") &&
		scan_u64(&s, &resident)) {
		out->rss_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	}
}
