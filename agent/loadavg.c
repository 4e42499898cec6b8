#include "agent/loadavg.h"

#include <errno.h>

#include "agent/scan.h"

enum { LOADAVG_MAX = 256 };

int loadavg_parse(struct report *out, const char *text, struct error *err)
{
	struct scan s = { .at = text };
	double load1;
	double load5;
	double load15;

	if (!scan_decimal(&s, &load1) || !scan_text(&s, " ") ||
		!scan_decimal(&s, &load5) || !scan_text(&s, " ") ||
		!scan_decimal(&s, &load15) || !scan_text(&s, " ")) {
		return error_set(err, -EBADMSG, "no three load averages");
	}
	out->load1 = load1;
	out->load5 = load5;
	out->load15 = load15;
	return 0;
}

void loadavg_read(struct report *out, struct kept_file *file, struct error *err)
{
	char text[LOADAVG_MAX];
	struct error why = { 0 };
	int r = kept_file_read(file, text, sizeof(text), &why);

	if (r >= 0) {
		r = loadavg_parse(out, text, &why);
	}
	(void)kept_file_settle(file, r, &why, err);
}
