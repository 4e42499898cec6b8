#include "aggregator/live/watch_log.h"

#include "lib/log.h"

void watch_log_poll(struct watch_log *log, const struct reflector *reflector,
	const char *failure, const char *recovery)
{
	const char *why = reflector_state(reflector).last_error;

	if (*why == '\0') {
		if (log->has_logged) {
			log_info(recovery, LOG_END);
		}
		log->has_logged = false;
	} else if (log->had_error && !log->has_logged) {
		log_warning(failure, log_str("why", why), LOG_END);
		log->has_logged = true;
	}
	log->had_error = *why != '\0';
}
