#include "proto/load.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

const struct load_field load_fields[] = {
#define X(group, field, ...)                                                   \
	{ #group, #field, offsetof(struct node_load, group##_##field) },
	LOAD_FIELDS(X)
#undef X
};

const size_t load_field_count = count_of(load_fields);

double *load_field_of(struct node_load *load, const struct load_field *field)
{
	return (double *)(void *)((char *)load + field->offset);
}

enum load_state load_state(uint64_t age_us, uint32_t interval_ms)
{
	const uint64_t lost_us = 300000000;
	uint64_t stale_us = 3 * (uint64_t)interval_ms * 1000;

	stale_us = stale_us < 15000000 ? 15000000 : stale_us;
	if (age_us > lost_us) {
		return LOAD_LOST;
	}
	return age_us > stale_us ? LOAD_STALE : LOAD_FRESH;
}

const char *load_state_name(enum load_state state)
{
	static const char *const names[] = { "fresh", "stale", "lost" };

	return names[state];
}

void node_load_init(struct node_load *load)
{
	*load = (struct node_load){ 0 };
	for (size_t i = 0; i < load_field_count; i++) {
		*load_field_of(load, &load_fields[i]) = NAN;
	}
}

void node_load_fini(struct node_load *load)
{
	if (load == NULL) {
		return;
	}
	free(load->vms);
	free(load->names);
	free(load->name);
	*load = (struct node_load){ 0 };
}

static size_t size_of(const char *text)
{
	return text == NULL ? 0 : strlen(text) + 1;
}

void node_load_name_vms(struct node_load *load, const struct vm_name *names)
{
	size_t size = 0;
	char *at;

	for (size_t i = 0; i < load->vm_count; i++) {
		size += size_of(names[i].namespace) + size_of(names[i].name);
	}
	at = xcalloc(size, 1);
	load->names = at;
	for (size_t i = 0; i < load->vm_count; i++) {
		load->vms[i].namespace = place_text(&at, names[i].namespace);
		load->vms[i].name = place_text(&at, names[i].name);
	}
}

void node_load_copy(struct node_load *out, const struct node_load *from)
{
	scoped_free struct vm_name *names =
		xcalloc(from->vm_count, sizeof(*names));

	*out = *from;
	out->name = from->name == NULL ? NULL : xstrdup(from->name);
	out->vms = xcalloc(from->vm_count, sizeof(*out->vms));
	for (size_t i = 0; i < from->vm_count; i++) {
		out->vms[i] = from->vms[i];
		names[i] = (struct vm_name){ from->vms[i].namespace,
			from->vms[i].name };
	}
	node_load_name_vms(out, names);
}

static const struct hugepages *find_hugepages(const struct node_load *load,
	uint64_t page_bytes)
{
	for (size_t i = 0; i < load->hugepages_count; i++) {
		if (load->hugepages[i].size_bytes == page_bytes) {
			return &load->hugepages[i];
		}
	}
	return NULL;
}

/* The kernel counts reserved pages as free until they are touched. */
bool load_free_hugepages(int64_t *out, const struct node_load *load,
	uint64_t page_bytes)
{
	const int64_t most = INT64_C(1) << 62;
	const struct hugepages *pages = find_hugepages(load, page_bytes);
	uint64_t reserved;

	if (pages == NULL || pages->free == REPORT_UNKNOWN) {
		return false;
	}
	reserved = pages->reserved == REPORT_UNKNOWN ? 0 : pages->reserved;
	if (reserved > pages->free) {
		reserved = pages->free;
	}
	if (__builtin_mul_overflow(pages->free - reserved, page_bytes, out) ||
		*out > most) {
		*out = most;
	}
	return true;
}

void vm_load_init(struct vm_load *vm)
{
	*vm = (struct vm_load){
#define X(field, ...) .field = NAN,
		VM_LOAD_FIELDS(X)
#undef X
	};
}
