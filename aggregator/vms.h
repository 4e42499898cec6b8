/* The VM pods of all nodes as rows, each with whose it is and its latest
 * figures. While a VM moves it has two. */
#pragma once

#include "aggregator/live.h"
#include "lib/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct identities;

struct vm_row {
	char pod_uid[REPORT_UID_MAX];
	size_t index; /* where it was in its node's report */
	/* Owned; the last three NULL while it is not known whose it is. */
	char *node, *namespace, *name, *vmi_uid;
};

struct vm_rows {
	struct vm_row *rows; /* owned */
	size_t count;
};

/* All of them, or those of one VM; by namespace, name and pod uid, the unknown
 * ones first. identities may be NULL. */
void vm_rows_list(struct vm_rows *out, const struct live *live,
	const struct identities *identities);
void vm_rows_find(struct vm_rows *out, const struct live *live,
	const struct identities *identities, const char *namespace,
	const char *name);

void vm_rows_fini(struct vm_rows *rows); /* zeroed is fine */

/* Writes {"namespace","name","vmi_uid","pod_uid","node","age_s","state",
 * figures}; nothing if the pod is gone meanwhile. now_us is the time that ages
 * count to. */
void vm_row_write(struct json *j, const struct vm_row *row,
	const struct live *live, uint64_t now_us);
