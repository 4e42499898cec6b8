#include "aggregator/ingest/snapshot.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* A figure takes 10 bytes with its tag. Texts have maximum lengths. A VM has
 * its uid, four figures, and names if they are known. */
enum { NODE_BYTES = 800, VM_BYTES = 160 };

static size_t estimate(const struct live_node *node)
{
	return NODE_BYTES + strlen(live_node_name(node)) +
		live_node_vms(node) * VM_BYTES;
}

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
		bytes += estimate(node);
		if (snapshot.count > 0 && bytes > SNAPSHOT_BYTES_MAX) {
			break;
		}
		snapshot.nodes = xgrow(snapshot.nodes, snapshot.count,
			&capacity, sizeof(*snapshot.nodes));
		live_node_load(&snapshot.nodes[snapshot.count], node, now_us);
		snapshot.count++;
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
