/* The selectors of a request choose of NodeLoads and VmLoads. */
#pragma once

#include "aggregator/apiserver/load_select.h"

/* Words for selector_check_keys(). */
extern const char load_node_fields[], load_vm_fields[];

/* The VM's reach; REPORT_UNKNOWN: not known. key: NAMESPACE/NAME. */
uint64_t load_reach(const struct load_view *view, const char *key);

/* By the figures and labels of now. */
bool load_matches(const struct load_query *query, const struct load_view *view,
	const struct load_selection *selection, size_t at);
