#include "scheduler/admission/labelled.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED = 3 };

void labelled_init(struct labelled *labelled, const struct cluster *cluster)
{
	*labelled = (struct labelled){
		.cluster = cluster,
		.key = interner_hold(cluster->interner, LABELLED_KEY),
		.value = interner_hold(cluster->interner, LABELLED_VALUE),
	};
}

void labelled_fini(struct labelled *labelled)
{
	interner_drop(labelled->cluster->interner, labelled->key);
	interner_drop(labelled->cluster->interner, labelled->value);
}

static bool has_label(const struct labelled *labelled,
	const struct labels *labels)
{
	return labels_get(labels, labelled->key) == labelled->value;
}

bool labelled_has(const struct labelled *labelled, const char *name)
{
	const struct labels *labels =
		cluster_namespace_labels(labelled->cluster, name);

	return labels != NULL && has_label(labelled, labels);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t labelled_list(struct buffer *out, const struct labelled *labelled)
{
	scoped_free const char **names = NULL;
	size_t count = 0, capacity = 0, at = 0;
	const struct labels *labels;
	const char *name;

	while (cluster_next_namespace(labelled->cluster, &at, &name, &labels)) {
		if (has_label(labelled, labels)) {
			names = xgrow(names, count, &capacity, sizeof(*names));
			names[count++] = name;
		}
	}
	if (out == NULL || count == 0) {
		return count;
	}
	qsort(names, count, sizeof(*names), compare);
	for (size_t i = 0; i < count && i < NAMED; i++) {
		buffer_printf(out, "%s%s", i == 0 ? "" : ", ", names[i]);
	}
	if (count > NAMED) {
		buffer_printf(out, " and %zu more", count - NAMED);
	}
	return count;
}
