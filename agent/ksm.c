#include "agent/ksm.h"

#include <errno.h>
#include <unistd.h>

#include "agent/scan.h"

enum { NUMBER_MAX = 64 };

void ksm_init(struct kept_file *file, int sys)
{
	kept_file_init(file, sys, "kernel/mm/ksm/pages_sharing");
}

/* Documentation/admin-guide/mm/ksm.rst: "how many more sites are sharing them
 * i.e. how much saved". */
void ksm_read(struct memory *out, struct kept_file *file, struct error *err)
{
	char text[NUMBER_MAX];
	struct error why = { 0 };
	uint64_t pages = 0;
	int r = kept_file_read(file, text, sizeof(text), &why);

	if (r >= 0 && !scan_single(text, &pages)) {
		r = error_set(&why, -EBADMSG, "it is no number");
	}
	if (kept_file_settle(file, r, &why, err) == SOURCE_PRESENT &&
		!__builtin_mul_overflow(pages, (uint64_t)sysconf(_SC_PAGESIZE),
			&pages)) {
		out->ksm_saved_bytes = pages;
	}
}
