#include "aggregator/http/sources_text.h"

#include "lib/buffer.h"
#include "lib/decimal.h"
#include "lib/http/httpd_response.h"

#include <string.h>

static const char header[] = "Plimsoll-Sources";

struct part {
	const char *source;
	uint64_t from_us, to_us;
	const char *error; /* or NULL */
};

/* Returns the number of parts, up to two. */
static size_t list_parts(struct part parts[2], const struct sources *sources)
{
	size_t count = 0;

	if (sources->joined_us > sources->from_us) {
		parts[count++] = (struct part){ "remote", sources->from_us,
			sources->joined_us,
			sources->error.code == 0 ? NULL : sources->error.text };
	}
	if (sources->to_us > sources->joined_us) {
		parts[count++] = (struct part){ "local", sources->joined_us,
			sources->to_us, NULL };
	}
	return count;
}

void sources_write(struct json *j, const struct sources *sources)
{
	struct part parts[2];
	size_t count = list_parts(parts, sources);

	if (!sources->is_known) {
		return;
	}
	json_array(j, "sources");
	for (size_t i = 0; i < count; i++) {
		json_object(j, NULL);
		json_string(j, "source", parts[i].source);
		json_seconds(j, "from", parts[i].from_us);
		json_seconds(j, "to", parts[i].to_us);
		if (parts[i].error != NULL) {
			json_string(j, "error", parts[i].error);
		}
		json_object_end(j);
	}
	json_array_end(j);
}

/* A quoted string of RFC 9110 without escapes. */
static void write_quoted(struct buffer *out, const char *text)
{
	buffer_char(out, '"');
	for (; *text != '\0'; text++) {
		char shown = *text;

		if (shown == '"') {
			shown = '\'';
		} else if (shown < ' ' || shown > '~' || shown == '\\') {
			shown = ' ';
		}
		buffer_char(out, shown);
	}
	buffer_char(out, '"');
}

void sources_set_header(struct httpd_request *request,
	const struct sources *sources)
{
	scoped_buffer struct buffer text = BUFFER_MAX(4096);
	struct part parts[2];
	size_t count = list_parts(parts, sources);

	if (!sources->is_known || count == 0) {
		return;
	}
	for (size_t i = 0; i < count; i++) {
		char from[DECIMAL_MAX], to[DECIMAL_MAX];

		(void)decimal_seconds(from, parts[i].from_us);
		(void)decimal_seconds(to, parts[i].to_us);
		buffer_printf(&text, "%s%s;from=%s;to=%s", i == 0 ? "" : ", ",
			parts[i].source, from, to);
		if (parts[i].error != NULL) {
			buffer_text(&text, ";error=");
			write_quoted(&text, parts[i].error);
		}
	}
	httpd_header_set(request, header, text.data);
}
