#include "scheduler/cache/api_version.h"

#include "kube/client.h"
#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <stdlib.h>

#define AGAIN_US UINT64_C(60000000)
#define RETRY_US UINT64_C(5000000) /* the server is away */

enum { STATUS_OK = 200, STATUS_SERVER_ERROR = 500, NAMES_MAX = 1024 };

struct api_version {
	struct api_version_options options;
	struct kube_request *request; /* NULL: none is pending */
	uint64_t next_us;
	int minor; /* that is followed; 0: none yet */
	int other; /* the last answer, if it was another; or 0 */
	bool was_refused;
};

static void follow(struct api_version *version, int minor, const char *text)
{
	const struct behaviours behaviours =
		behaviours_of(minor, &version->options.overrides);
	scoped_buffer struct buffer names = BUFFER_MAX(NAMES_MAX);

	version->minor = minor;
	version->other = 0;
	behaviours_describe(&names, behaviours);
	log_info(
		"deciding as kube-scheduler of this version does, with its "
		"default feature gates",
		log_str("version", text), log_str("behaviours", names.data),
		LOG_END);
	version->options.on_change(version->options.owner, behaviours);
}

static void on_text(struct api_version *version, const char *text)
{
	struct error err;
	int minor;

	if (behaviours_read_version(&minor, text, &err) < 0) {
		if (version->minor == 0) {
			log_warning("cannot read the API server's version",
				log_err(&err), LOG_END);
			follow(version, BEHAVIOURS_NEWEST, "unknown");
		}
		return;
	}
	if (version->minor == 0 || minor == version->other) {
		follow(version, minor, text);
	} else {
		version->other = minor == version->minor ? 0 : minor;
	}
}

static void on_body(struct api_version *version,
	const struct http_response *response)
{
	struct json_value *object = NULL;
	struct error err;

	if (json_value_parse(&object, response->body, response->len, &err) ==
		0) {
		on_text(version, json_value_text_at(object, "gitVersion", ""));
	} else {
		on_text(version, "");
	}
	json_value_free(object);
}

static void on_failure(struct api_version *version,
	const struct http_response *response)
{
	if (response->status == 0 || response->status >= STATUS_SERVER_ERROR) {
		version->next_us = clock_monotonic_us() + RETRY_US;
	} else if (!version->was_refused && version->minor == 0) {
		version->was_refused = true;
		log_warning(
			"the API server does not tell its version: deciding "
			"as the newest kube-scheduler does",
			log_str("err", response->error), LOG_END);
	}
}

static void on_done(void *owner, const struct http_response *response)
{
	struct api_version *version = owner;

	version->request = NULL;
	version->next_us = clock_monotonic_us() + AGAIN_US;
	if (response->status == STATUS_OK) {
		on_body(version, response);
	} else {
		on_failure(version, response);
	}
}

void api_version_poll(struct api_version *version, uint64_t now_us)
{
	if (version->request != NULL || now_us < version->next_us) {
		return;
	}
	version->request = kube_request_send(version->options.client,
		&(struct kube_call){ .method = "GET",
			.path = "/version",
			.on_done = on_done,
			.owner = version });
}

struct api_version *api_version_new(const struct api_version_options *options)
{
	struct api_version *version = xcalloc(1, sizeof(*version));

	version->options = *options;
	api_version_poll(version, 0);
	return version;
}

void api_version_close(struct api_version *version)
{
	if (version != NULL) {
		kube_request_cancel(version->request);
		free(version);
	}
}
