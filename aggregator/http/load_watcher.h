/* /watcher: the nodes' load as Trimaran's plugins read it from load-watcher.
 *
 * Their decoder takes null for 0, an idle node, keeps the last answer for ever
 * and reads numbers of more than 18 digits as garbage. So a figure that is not
 * known is left out, a node that is not fresh or whose CPU use is not known is not
 * there at all (the plugins score it lowest then), and values have at most six
 * decimals.
 *
 * Values are percent of the node's capacity over 15 min. For each of CPU and
 * Memory STD comes before AVG: TargetLoadPacking takes the last AVG or Latest
 * of CPU, the others look for both operators. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* {"timestamp","window","source","data":{"NodeMetricsMap":{}}}. host: that node
 * alone; NULL: all. window.end is when the newest sample in it was taken:
 * TargetLoadPacking adds what it placed after that.
 * False, and nothing written: host is not among them. */
bool watcher_write(struct buffer *out, const struct live *live,
	const char *host, uint64_t now_us, uint64_t wall_us);
