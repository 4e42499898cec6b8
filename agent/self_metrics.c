#include "agent/self_metrics.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/scan.h"

enum { STATM_MAX = 256 };

void own_init(struct own *own)
{
	kept_file_init(&own->statm, AT_FDCWD, "/proc/self/statm");
}

void own_fini(struct own *own)
{
	if (own != NULL) {
		kept_file_fini(&own->statm);
	}
}

static uint64_t us_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

/* proc(5): "size resident ...", in pages. */
static void read_memory(struct own_cost *out, struct own *own)
{
	char text[STATM_MAX];
	struct scan s = { .at = text };
	uint64_t size;
	uint64_t resident;

	if (kept_file_read(&own->statm, text, sizeof(text), NULL) >= 0 &&
		scan_u64(&s, &size) && scan_text(&s, " ") &&
		scan_u64(&s, &resident)) {
		out->rss_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	}
}

void own_read(struct own_cost *out, struct own *own)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0) {
		out->cpu_us = us_of(&usage.ru_utime) + us_of(&usage.ru_stime);
	}
	read_memory(out, own);
}
