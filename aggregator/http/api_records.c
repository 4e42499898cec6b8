#include "aggregator/http/api_records.h"

#include "aggregator/http/body.h"
#include "aggregator/store/records.h"
#include "lib/clock.h"
#include "lib/decimal.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIMIT_DEFAULT = 100,
	BODY_MAX = 64 << 20, /* a full decision is 40 KiB, most are 5 */
};

struct api_records *api_records_new(struct httpd_request *request,
	const char *key)
{
	struct api_records *records = xcalloc(1, sizeof(*records));

	records->request = request;
	records->body = BUFFER_MAX(BODY_MAX);
	records->json = json_into(&records->body);
	json_object(&records->json, NULL);
	json_array(&records->json, key);
	return records;
}

bool api_records_has_room(const struct api_records *records)
{
	return !records->body.overflowed;
}

void api_records_done(struct api_records *records, const struct error *err)
{
	json_object_end(&records->json);
	if (err != NULL) {
		httpd_reply_error(records->request, 503, "%s", err->text);
	} else if (records->body.overflowed) {
		httpd_reply_error(records->request, 500,
			"the response is larger than %d MiB: lower the limit",
			BODY_MAX >> 20);
	} else {
		httpd_reply(records->request, 200, "application/json",
			records->body.data, records->body.len);
	}
	buffer_fini(&records->body);
	free(records);
}

void api_records_write_time(struct json *j, const char *key, uint64_t us)
{
	scoped_free char *text_key = xasprintf("%s_rfc3339", key);
	char text[CLOCK_TEXT_MAX];

	if (us == 0) {
		json_null(j, key);
		json_null(j, text_key);
		return;
	}
	json_seconds(j, key, us);
	json_string(j, text_key, clock_text(text, us));
}

void api_records_write_text(struct json *j, const char *key, const char *text)
{
	if (text[0] == '\0') {
		json_null(j, key);
	} else {
		json_string(j, key, text);
	}
}

int api_records_parse_name(char *namespace, char *name, size_t size,
	const struct httpd_request *request, const char *key, struct error *err)
{
	const char *text = httpd_query(request, key);
	const char *slash = text == NULL ? NULL : strchr(text, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - text);

	if (text == NULL) {
		return 0;
	}
	if (len == 0 || len >= size || slash[1] == '\0' ||
		strchr(slash + 1, '/') != NULL || strlen(slash + 1) >= size) {
		return error_set(err, -EINVAL,
			"%s: '%.100s' is not NAMESPACE/NAME", key, text);
	}
	(void)snprintf(namespace, size, "%.*s", (int)len, text);
	(void)snprintf(name, size, "%s", slash + 1);
	return 0;
}

int api_records_parse_limit(size_t *out, const struct httpd_request *request,
	struct error *err)
{
	const char *text = httpd_query(request, "limit");
	const char *at = text;
	uint64_t value = LIMIT_DEFAULT;

	if (text != NULL &&
		(!decimal_parse(&value, &at, STORE_RECORDS_MAX) ||
			*at != '\0' || value == 0)) {
		return error_set(err, -EINVAL,
			"limit: '%.40s' is not a number from 1 to %d", text,
			STORE_RECORDS_MAX);
	}
	*out = value;
	return 0;
}

bool api_records_parse_place(uint64_t *ms, uint64_t *row, const char *text)
{
	return decimal_parse(ms, &text, INT64_MAX) && *text++ == '-' &&
		decimal_parse(row, &text, INT64_MAX) && *text == '\0';
}
