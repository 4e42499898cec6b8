#include "aggregator/remote_read/remote_read_config.h"

#include "aggregator/series/label_flags.h"

#include <errno.h>
#include <string.h>

int remote_read_check(const struct remote_read_config *config,
	struct error *err)
{
	int r = http_target_check(&config->http, config->labels.count > 0,
		"remote-read", err);

	if (r == 0 && config->http.url != NULL &&
		strpbrk(config->http.url, "?#") != NULL) {
		r = error_set(err, -EINVAL,
			"--remote-read: the URL must not have a query");
	}
	return r < 0
		? r
		: label_flags_check(&config->labels, "remote-read-label", err);
}
