#include "aggregator/http/api_list.h"

#include "aggregator/http/body.h"
#include "aggregator/http/vm_pods.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* Written per turn of the event loop, which takes some milliseconds. The last
 * node may add 1.2 MB: 2,048 VMs with the longest names. */
enum { TURN_BYTES = 256 << 10 };

struct list {
	struct api_list_options options;
	struct json json;
	bool is_begun;
	size_t at, count;
	char **nodes; /* owned, by name */
	bool has_vms;
};

static void write_head(struct list *list)
{
	struct json *j = &list->json;

	json_object(j, NULL);
	json_unsigned(j, "epoch", live_epoch(list->options.live));
	json_unsigned(j, "rev", live_revision(list->options.live));
	json_seconds(j, "now", list->options.wall_us);
	json_array(j, list->has_vms ? "vms" : "nodes");
}

static void write_item(struct list *list, size_t at)
{
	const struct api_list_options *options = &list->options;
	const struct live_node *node =
		live_find(options->live, list->nodes[at]);

	if (node == NULL) {
		return;
	}
	if (list->has_vms) {
		vm_pods_write_node(&list->json,
			&(struct vm_pods_view){ options->live,
				options->identities, options->now_us },
			node);
	} else {
		body_write_node(&list->json, node, options->now_us);
	}
}

static bool next(void *owner, struct buffer *out)
{
	struct list *list = owner;

	list->json.out = out;
	if (!list->is_begun) {
		write_head(list);
		list->is_begun = true;
	}
	while (list->at < list->count && out->len < TURN_BYTES) {
		write_item(list, list->at);
		list->at++;
	}
	if (list->at < list->count) {
		return true;
	}
	json_array_end(&list->json);
	json_object_end(&list->json);
	buffer_char(out, '\n');
	return false;
}

static void done(void *owner)
{
	struct list *list = owner;

	for (size_t i = 0; i < list->count; i++) {
		free(list->nodes[i]);
	}
	free(list->nodes);
	free(list);
}

static int by_name(const void *a, const void *b)
{
	char *const *x = a;
	char *const *y = b;

	return strcmp(*x, *y);
}

static struct httpd_stream list_new(const struct api_list_options *options,
	bool has_vms)
{
	struct list *list = xcalloc(1, sizeof(*list));

	list->options = *options;
	list->has_vms = has_vms;
	list->json = json_into(NULL);
	list->nodes = xcalloc(live_count(options->live), sizeof(char *));
	for (const struct live_node *node = live_after(options->live, 0);
		node != NULL; node = live_next(node)) {
		list->nodes[list->count++] = xstrdup(live_node_name(node));
	}
	qsort(list->nodes, list->count, sizeof(*list->nodes), by_name);
	return (struct httpd_stream){ next, done, list };
}

struct httpd_stream api_list_nodes(const struct api_list_options *options)
{
	return list_new(options, false);
}

struct httpd_stream api_list_vms(const struct api_list_options *options)
{
	return list_new(options, true);
}
