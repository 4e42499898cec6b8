#include "scheduler/objects/container_statuses.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

struct container_status {
	const char *name; /* borrowed, as is the value */
	const struct json_value *value;
	size_t order;
};

static int compare_names(const void *a, const void *b)
{
	const struct container_status *x = a;
	const struct container_status *y = b;

	return strcmp(x->name, y->name);
}

static int compare(const void *a, const void *b)
{
	const struct container_status *x = a;
	const struct container_status *y = b;
	int order = compare_names(a, b);

	return order != 0 ? order
			  : (x->order > y->order) - (x->order < y->order);
}

static void append(struct container_statuses *statuses,
	const struct json_value *list)
{
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		statuses->list[statuses->count] = (struct container_status){
			.name = json_value_text_at(v, "name", ""),
			.value = v,
			.order = statuses->count,
		};
		statuses->count++;
	}
}

static void keep_one_of_each_name(struct container_statuses *statuses,
	bool keeps_first)
{
	size_t kept = 0;

	for (size_t i = 0; i < statuses->count; i++) {
		bool is_new = i > 0 &&
			compare_names(&statuses->list[kept],
				&statuses->list[i]) != 0;

		kept += is_new;
		if (is_new || !keeps_first) {
			statuses->list[kept] = statuses->list[i];
		}
	}
	statuses->count = kept + 1;
}

void container_statuses_read(struct container_statuses *out,
	const struct json_value *status, bool keeps_first)
{
	const struct json_value *list =
		json_value_get(status, "containerStatuses");
	const struct json_value *inits =
		json_value_get(status, "initContainerStatuses");
	size_t count = json_value_count(list) + json_value_count(inits);

	*out = (struct container_statuses){ 0 };
	if (count == 0) {
		return;
	}
	out->list = xcalloc(count, sizeof(*out->list));
	append(out, list);
	append(out, inits);
	qsort(out->list, out->count, sizeof(*out->list), compare);
	keep_one_of_each_name(out, keeps_first);
}

void container_statuses_fini(struct container_statuses *statuses)
{
	free(statuses->list);
	*statuses = (struct container_statuses){ 0 };
}

const struct json_value *container_statuses_find(
	const struct container_statuses *statuses, const char *name)
{
	const struct container_status wanted = { .name = name };
	const struct container_status *found = statuses->count == 0
		? NULL
		: bsearch(&wanted, statuses->list, statuses->count,
			  sizeof(wanted), compare_names);

	return found == NULL ? NULL : found->value;
}

bool container_is_sidecar(const struct json_value *container)
{
	return strcmp(json_value_text_at(container, "restartPolicy", ""),
		       "Always") == 0;
}
