/* A struct and the texts of its members in one allocation: thousands of VMIs
 * have ten texts each, most of them empty. */
#pragma once

#include <stddef.h>

/* Longer texts of KubeVirt are cut, in bytes, between two characters. */
enum { PACKED_TEXT_MAX = 400 };

struct packed_text {
	size_t offset; /* of a member of type char * */
	const char *text;
};

/* Copies head, which has size bytes, and sets the members. Freed by free(). */
void *packed_texts_new(const void *head, size_t size,
	const struct packed_text *texts, size_t count);
