#include "agent/loadavg.h"

#include <errno.h>

#include "agent/scan.h"
#include "lib/memory.h"

enum { LOADAVG_MAX = 256 };

int loadavg_parse(struct report *out, const char *text, struct error *err)
{
	struct scan s = { .at = text };
	double loads[3];

	for (size_t i = 0; i < count_of(loads); i++) {
		if (!scan_decimal(&s, &loads[i]) || !scan_text(&s, " ")) {
			return error_set(err, -EBADMSG,
				"no three load averages");
		}
	}
	out->load1 = loads[0];
	out->load5 = loads[1];
	out->load15 = loads[2];
	return 0;
}

void loadavg_read(struct report *out, struct kernel_file *file,
	struct error *err)
{
	char text[LOADAVG_MAX];
	struct error why = { 0 };
	int r = kernel_file_read(file, text, sizeof(text), &why);

	if (r >= 0) {
		r = loadavg_parse(out, text, &why);
	}
	(void)kernel_file_state(file, r, &why, err);
}
