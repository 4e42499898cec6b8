/* Which NodeLoads and VmLoads a request asks for, in the order of their keys.
 * Its selectors choose of them (load_match.h). */
#pragma once

#include "aggregator/apiserver/api_types.h"
#include "aggregator/apiserver/page_token.h"
#include "kube/selector.h"

struct field_cells;
struct identities;
struct live;
struct vm_reach;

/* The state that is listed; outlives the streams. */
struct load_view {
	const struct live *live;
	const struct identities *identities; /* or NULL: no VMs */
	const struct object_labels *nodes;   /* by name; or NULL */
	const struct object_labels *pods;    /* by uid; or NULL */
	const struct vm_reach *reach;	     /* or NULL */
};

struct load_query {
	enum api_kind kind;    /* API_NODE_LOADS or API_VM_LOADS */
	const char *namespace; /* "": all */
	const char *name;      /* "": all; else the only one */
	struct selector labels, fields;
	/* Only what follows this key: NAME, or NAMESPACE/NAME. */
	char after[PAGE_KEY_MAX];
	size_t limit; /* 0: no limit */
	enum accept_form form;
	enum api_include include;
	struct field_cells *cells; /* of a Table; NULL: those of the kind */
};

/* The terms of both selectors. */
size_t load_query_terms(const struct load_query *query);

/* An object. Its texts: the key, NAME or NAMESPACE/NAME; then for a VM
 * each pod's node and uid, source first; all NUL-terminated. */
struct load_chosen {
	size_t texts; /* where they begin in the texts of the selection */
	uint16_t pods;
	/* The first pod was there in the report of its node. */
	uint16_t index;
};

struct load_selection {
	struct buffer texts;
	struct load_chosen *items; /* owned */
	size_t count;
	size_t remaining; /* beyond the limit, which counts without selectors */
};

const char *load_selection_texts(const struct load_selection *selection,
	size_t at);

/* Keeps nothing of the query. */
void load_select(struct load_selection *out, const struct load_view *view,
	const struct load_query *query);
void load_selection_fini(struct load_selection *selection);
