#include "aggregator/http/time_text.h"

size_t time_text_put(char *out, uint64_t us)
{
	size_t len = decimal_unsigned(out, us / 1000000);
	uint32_t rest = (uint32_t)(us % 1000000);

	if (rest > 0) {
		out[len++] = '.';
	}
	for (; rest > 0; rest = rest % 100000 * 10) {
		out[len++] = (char)('0' + rest / 100000);
	}
	out[len] = '\0';
	return len;
}

void time_text_write(struct json *j, const char *key, uint64_t us)
{
	char text[TIME_TEXT_MAX];

	(void)time_text_put(text, us);
	json_raw(j, key, text);
}
