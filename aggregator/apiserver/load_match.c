#include "aggregator/apiserver/load_match.h"

#include "aggregator/apiserver/load_objects.h"
#include "aggregator/apiserver/vm_reach.h"
#include "aggregator/live/live.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char load_node_fields[] = "metadata.name status.state status.hottest";
const char load_vm_fields[] =
	"metadata.name metadata.namespace spec.nodeName status.state "
	"status.reachableNodes";

/* An object that is matched; its texts are borrowed. */
struct candidate {
	const struct load_view *view;
	const struct label_set *labels; /* NULL: none */
	const char *key;		/* NAME, or NAMESPACE/NAME */
	const char *pods; /* the node and uid of each, see struct load_chosen */
	size_t pod_count; /* 0: a node */
};

static const char *next_text(const char *text)
{
	return text + strlen(text) + 1;
}

static const char *first_node(const struct candidate *candidate)
{
	return candidate->pod_count == 0 ? candidate->key : candidate->pods;
}

static bool has_label(const void *owner, const char *key,
	const struct selector_values *values)
{
	const struct candidate *candidate = owner;

	return selector_values_have(values,
		label_set_get(candidate->labels, key));
}

static bool is_on(const struct candidate *candidate,
	const struct selector_values *nodes)
{
	const char *node = candidate->pods;

	for (size_t i = 0; i < candidate->pod_count; i++) {
		if (selector_values_have(nodes, node)) {
			return true;
		}
		node = next_text(next_text(node));
	}
	return false;
}

static bool is_in_namespace(const struct candidate *candidate,
	const struct selector_values *values)
{
	size_t len = strcspn(candidate->key, "/");
	scoped_free char *namespace = xstrndup(candidate->key, len);

	return selector_values_have(values, namespace);
}

static const char *hottest_of(const struct live_node *node)
{
	struct node_load load;
	struct heat heat;

	live_node_figures(&load, node, clock_monotonic_us());
	heat = heat_of(&load);
	node_load_fini(&load);
	return heat.resource;
}

uint64_t load_reach(const struct load_view *view, const char *key)
{
	return view->reach == NULL
		? REPORT_UNKNOWN
		: vm_reach_nodes(view->reach, key, clock_monotonic_us());
}

/* A reach that is not known has no value, and differs from every number. */
static bool has_reach(const struct candidate *candidate,
	const struct selector_values *values)
{
	uint64_t nodes = load_reach(candidate->view, candidate->key);
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, nodes);
	return selector_values_have(values,
		nodes == REPORT_UNKNOWN ? NULL : text);
}

static bool has_field(const void *owner, const char *key,
	const struct selector_values *values)
{
	const struct candidate *candidate = owner;
	const char *slash = strchr(candidate->key, '/');
	const struct live_node *node;

	if (strcmp(key, "metadata.name") == 0) {
		return selector_values_have(values,
			slash == NULL ? candidate->key : slash + 1);
	}
	if (strcmp(key, "metadata.namespace") == 0) {
		return is_in_namespace(candidate, values);
	}
	if (strcmp(key, "spec.nodeName") == 0) {
		return is_on(candidate, values);
	}
	if (strcmp(key, "status.reachableNodes") == 0) {
		return has_reach(candidate, values);
	}
	node = live_find(candidate->view->live, first_node(candidate));
	if (node == NULL) {
		return false;
	}
	return selector_values_have(values,
		strcmp(key, "status.hottest") == 0
			? hottest_of(node)
			: load_state_word(
				  live_node_state(node, clock_monotonic_us())));
}

static const struct label_set *labels_of(const struct candidate *candidate)
{
	return candidate->pod_count == 0
		? object_labels_find(candidate->view->nodes, candidate->key)
		: object_labels_find(candidate->view->pods,
			  next_text(candidate->pods));
}

bool load_matches(const struct load_query *query, const struct load_view *view,
	const struct load_selection *selection, size_t at)
{
	const char *key = load_selection_texts(selection, at);
	struct candidate candidate = { .view = view,
		.key = key,
		.pods = next_text(key),
		.pod_count = query->kind == API_NODE_LOADS
			? 0
			: selection->items[at].pods };

	if (query->labels.terms.count > 0) {
		candidate.labels = labels_of(&candidate);
	}
	return selector_matches(&query->fields,
		       &(struct selector_object){ has_field, &candidate }) &&
		selector_matches(&query->labels,
			&(struct selector_object){ has_label, &candidate });
}
