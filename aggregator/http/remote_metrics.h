/* The series of /metrics about remote write and remote read. */
#pragma once

#include "aggregator/remote_read/remote_read.h"
#include "aggregator/remote_write/remote_write.h"
#include "lib/buffer.h"

void remote_metrics_write(struct buffer *out,
	const struct remote_write_health *remote);

void remote_metrics_write_read(struct buffer *out,
	const struct remote_read_health *remote);
