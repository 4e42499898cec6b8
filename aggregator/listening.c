#include "aggregator/listening.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <string.h>

/* The configured address with the bound port; the caller frees it. */
static char *with_port(const char *address, uint16_t port)
{
	const char *colon = strrchr(address, ':');

	return xasprintf("%.*s:%d", (int)(colon - address), address, port);
}

void listening_log(const struct aggregator_config *config,
	const struct listening_ports *ports)
{
	scoped_free char *listen = with_port(config->listen, ports->listen);
	scoped_free char *http = with_port(config->http, ports->http);
	scoped_free char *health = with_port(config->health, ports->health);

	log_info("listening", log_str("listen", listen), log_str("http", http),
		log_str("health", health), log_str("api", config->api),
		log_str("version", plimsoll_version), LOG_END);
}
