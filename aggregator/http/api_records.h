/* Common parts of the lists of schedulers' records, /v1/decisions and
 * /v1/moves. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/http/httpd.h"
#include "lib/json.h"

/* The body belongs to the reader's thread while the query runs. */
struct api_records {
	struct httpd_request *request;
	struct buffer body;
	struct json json;
};

/* Begins {"key":[ */
struct api_records *api_records_new(struct httpd_request *request,
	const char *key);

/* False: the body is full, which api_records_done() answers. */
bool api_records_has_room(const struct api_records *records);

/* Ends the object, whose list has ended, answers, and frees. err: why nothing
 * was read, or NULL. */
void api_records_done(struct api_records *records, const struct error *err);

/* Unix seconds as "key", RFC 3339 as "key_rfc3339"; null if us is 0. */
void api_records_write_time(struct json *j, const char *key, uint64_t us);

/* Null if the text is "". */
void api_records_write_text(struct json *j, const char *key, const char *text);

/* The parameter `key` of the form NAMESPACE/NAME. Both outputs have size bytes
 * and stay as they are without the parameter. -EINVAL. */
must_check int api_records_parse_name(char *namespace, char *name, size_t size,
	const struct httpd_request *request, const char *key,
	struct error *err);

/* The parameter limit: 1 to STORE_RECORDS_MAX. -EINVAL. */
must_check int api_records_parse_limit(size_t *out,
	const struct httpd_request *request, struct error *err);

/* Reads "MILLISECONDS-ROW", the place of a record in a list. False: not that,
 * and the outputs may be written. */
bool api_records_parse_place(uint64_t *ms, uint64_t *row, const char *text);
