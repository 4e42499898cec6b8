#include "aggregator/ingest/snapshot.h"

#include "lib/memory.h"

#include <stdlib.h>

void snapshot_write(struct buffer *out, const struct live *live,
	const struct snapshot_request *request, uint64_t now_us)
{
	struct snapshot snapshot = {
		.epoch = live_epoch(live),
		.full = request->epoch != live_epoch(live),
	};
	const struct live_node *node;
	size_t capacity = 0, bytes = 0;

	snapshot.rev = snapshot.full ? 0 : request->rev;
	node = live_after(live, snapshot.rev);
	while (node != NULL && snapshot.count < WIRE_NODES_MAX) {
		struct node_load load;

		live_node_load(&load, node, now_us);
		bytes += wire_node_load_bytes(&load);
		if (snapshot.count > 0 && bytes > SNAPSHOT_BYTES_MAX) {
			node_load_fini(&load);
			break;
		}
		snapshot.nodes = xgrow(snapshot.nodes, snapshot.count,
			&capacity, sizeof(*snapshot.nodes));
		snapshot.nodes[snapshot.count++] = load;
		snapshot.rev = live_node_revision(node);
		node = live_next(node);
	}
	if (node == NULL) {
		/* The newest change may be a removal. */
		snapshot.rev = live_revision(live);
	}
	wire_pack_snapshot(out, &snapshot);
	for (size_t i = 0; i < snapshot.count; i++) {
		node_load_fini(&snapshot.nodes[i]);
	}
	free(snapshot.nodes);
}
