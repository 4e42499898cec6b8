#include "aggregator/apiserver/api_status.h"

#include "aggregator/apiserver/rest_path.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <stddef.h>
#include <string.h>

/* As metav1.StatusReason names them. */
static const char *reason_of(int code)
{
	static const struct {
		int code;
		const char *reason;
	} reasons[] = {
		{ 400, "BadRequest" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "NotFound" },
		{ 405, "MethodNotAllowed" },
		{ 406, "NotAcceptable" },
		{ 410, "Expired" },
		{ 413, "RequestEntityTooLarge" },
		{ 422, "Invalid" },
		{ 429, "TooManyRequests" },
		{ 503, "ServiceUnavailable" },
		{ 504, "Timeout" },
	};

	for (size_t i = 0; i < count_of(reasons); i++) {
		if (reasons[i].code == code) {
			return reasons[i].reason;
		}
	}
	return code < 500 ? "BadRequest" : "InternalError";
}

static void write_status(struct buffer *out, int code, const char *sentence)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "kind", "Status");
	json_string(&j, "apiVersion", "v1");
	json_object(&j, "metadata");
	json_object_end(&j);
	json_string(&j, "status", "Failure");
	json_string(&j, "message", sentence);
	json_string(&j, "reason", reason_of(code));
	json_integer(&j, "code", code);
	json_object_end(&j);
}

bool api_status_write(struct buffer *out, const char *path, int code,
	const char *sentence)
{
	(void)path;
	write_status(out, code, sentence);
	return true;
}

bool api_status_write_below(struct buffer *out, const char *path, int code,
	const char *sentence)
{
	bool is_below = strncmp(path, API_ROOT, sizeof(API_ROOT) - 1) == 0;

	if (is_below) {
		write_status(out, code, sentence);
	}
	return is_below;
}
