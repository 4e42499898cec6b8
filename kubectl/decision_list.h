/* The last decisions about a VM or pod, in words. Keeps the newest only. */
#pragma once

#include "kubectl/output.h"

#include <stddef.h>

struct buffer;
struct json_value;

enum { DECISION_LIST_MAX = 100 };

struct decision_list {
	enum output output;
	size_t max; /* to keep; at most DECISION_LIST_MAX */
	struct decision_entry {
		double time_s;
		char *text;
	} entries[DECISION_LIST_MAX + 1]; /* the newest first */
	size_t count;
};

void decision_list_fini(struct decision_list *list);

/* Adds a Decision, and drops the oldest above the maximum. */
void decision_list_add(struct decision_list *list,
	const struct json_value *decision);

/* Appends the list in the format of list->output. */
void decision_list_write(struct buffer *out, const struct decision_list *list);
