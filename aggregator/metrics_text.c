#include "aggregator/metrics_text.h"

#include "lib/decimal.h"
#include "lib/utf8.h"

#include <math.h>

void metrics_text_head(struct buffer *out, const char *name, const char *help,
	bool is_counter)
{
	buffer_printf(out, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name,
		is_counter ? "counter" : "gauge");
}

void metrics_text_value(struct buffer *out, double value)
{
	char text[DECIMAL_MAX];

	buffer_char(out, ' ');
	buffer_append(out, text, decimal_number(text, value, 15));
	buffer_char(out, '\n');
}

void metrics_text_label(struct buffer *out, const char *key, const char *value)
{
	bool is_first = out->len > 0 && out->data[out->len - 1] == '{';

	buffer_printf(out, "%s%s=\"", is_first ? "" : ",", key);
	while (*value != '\0') {
		if (*value == '\n') {
			buffer_text(out, "\\n");
			value++;
			continue;
		}
		if (*value == '"' || *value == '\\') {
			buffer_char(out, '\\');
		}
		value += utf8_append(out, value);
	}
	buffer_char(out, '"');
}

void metrics_text_own(struct buffer *out, const char *name, const char *help,
	bool is_counter, double value)
{
	if (isfinite(value)) {
		metrics_text_head(out, name, help, is_counter);
		buffer_text(out, name);
		metrics_text_value(out, value);
	}
}
