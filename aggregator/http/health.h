/* The listener for probes, which needs no authentication. */
#pragma once

#include "aggregator/remote_write/remote_write.h"
#include "aggregator/store/store.h"
#include "lib/http/httpd_routes.h"

#include <stdbool.h>

struct health {
	struct store *store;
	struct remote_write *remote; /* NULL: no --remote-write */
	bool is_open; /* the store is, and the program does not stop */
};

/* Borrows health. */
struct httpd_routes health_routes(struct health *health);
