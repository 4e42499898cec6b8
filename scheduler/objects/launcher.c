#include "scheduler/objects/launcher.h"

#include "kube/quantity.h"
#include "kube/time.h"

#include <string.h>

static const struct json_value *find_compute(const struct json_value *list)
{
	const struct json_value *c = json_value_first(list);

	while (c != NULL &&
		strcmp(json_value_text_at(c, "name", ""), "compute") != 0) {
		c = json_value_next(c);
	}
	return c;
}

/* NULL: the kubelet has not reported the container. */
static const struct json_value *state_of(const struct json_value *pod)
{
	return json_value_get(
		find_compute(json_value_at(pod, "status/containerStatuses")),
		"state");
}

static struct quantity request_of(const struct json_value *container,
	const char *path)
{
	const char *text = json_value_text_at(container, path, "0");
	struct quantity amount = { 0 };

	return quantity_parse(&amount, text, NULL) == 0
		? amount
		: (struct quantity){ 0 };
}

static unsigned count_disks(const struct json_value *list)
{
	static const char prefix[] = "volume";
	unsigned count = 0;

	for (const struct json_value *c = json_value_first(list); c != NULL;
		c = json_value_next(c)) {
		count += strncmp(json_value_text_at(c, "name", ""), prefix,
				 sizeof(prefix) - 1) == 0;
	}
	return count;
}

struct launcher_compute launcher_compute_of(const struct json_value *spec)
{
	const struct json_value *list = json_value_get(spec, "containers");
	const struct json_value *c = find_compute(list);

	return (struct launcher_compute){
		.cpu_milli =
			quantity_milli(request_of(c, "resources/requests/cpu")),
		.memory_bytes = quantity_units(
			request_of(c, "resources/requests/memory")),
		.disks = count_disks(list),
	};
}

static int64_t time_at(const struct json_value *state, const char *path)
{
	int64_t us;

	return time_parse(&us, json_value_text_at(state, path, ""), NULL) == 0
		? us
		: TIME_LONG_AGO;
}

int64_t launcher_started_us(const struct json_value *pod)
{
	return time_at(state_of(pod), "running/startedAt");
}

int64_t launcher_ran_us(const struct json_value *pod)
{
	const struct json_value *state = state_of(pod);
	int64_t from = time_at(state, "terminated/startedAt");
	int64_t to = time_at(state, "terminated/finishedAt");

	if (json_value_get(state, "running") != NULL) {
		return LAUNCHER_UNKNOWN;
	}
	if (json_value_get(state, "terminated") == NULL) {
		return 0;
	}
	/* A container that could not be created has 1970, or no times. */
	return from <= 0 || to < from ? 0 : to - from;
}

/* For keys with dots and slashes, which are not paths. */
static const char *text_in(const struct json_value *object, const char *key)
{
	const char *text = json_value_text(json_value_get(object, key));

	return text != NULL ? text : "";
}

bool launcher_has_label(const struct json_value *pod)
{
	return strcmp(text_in(json_value_at(pod, "metadata/labels"),
			      "kubevirt.io"),
		       "virt-launcher") == 0;
}

bool launcher_is_target(const struct json_value *pod)
{
	const struct json_value *meta = json_value_get(pod, "metadata");
	const struct json_value *labels = json_value_get(meta, "labels");
	const struct json_value *notes = json_value_get(meta, "annotations");
	const char *node = json_value_text_at(pod, "spec/nodeName", "");

	if (*text_in(labels, "kubevirt.io/migrationJobUID") == '\0' ||
		*text_in(notes,
			"kubevirt.io/migration-target-ready-timestamp") !=
			'\0') {
		return false;
	}
	return *node == '\0' ||
		strcmp(text_in(labels, "kubevirt.io/nodeName"), node) != 0;
}
