/* /watcher: the nodes' load in load-watcher's format, for Trimaran's plugins.
 *
 * The plugins' decoder reads null as 0 (an idle node), keeps the last response
 * forever, and misreads numbers of more than 18 digits. An unknown figure is
 * therefore left out, a node that is not fresh or has an unknown CPU use is
 * left out (the plugins then give it the lowest score), and values have at most
 * six decimals.
 *
 * Values are percent of the node's capacity over 15 min. For CPU and Memory,
 * STD comes before AVG: TargetLoadPacking uses the last AVG or Latest of CPU,
 * the other plugins look for both operators. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/buffer.h"

/* {"timestamp","window","source","data":{"NodeMetricsMap":{}}}. host: only that
 * node; NULL: all. window.end is the time of the newest sample in the map,
 * because TargetLoadPacking adds the pods that it scheduled after that time.
 * False, and nothing written: host is left out. */
bool load_watcher_write(struct buffer *out, const struct live *live,
	const char *host, uint64_t now_us, uint64_t wall_us);
