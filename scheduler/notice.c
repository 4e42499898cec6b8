#include "scheduler/notice.h"

#include "lib/log.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static bool was_told(const struct waiting *waiting, const char *message,
	int64_t now_us)
{
	return waiting->message != NULL &&
		strcmp(waiting->message, message) == 0 &&
		now_us - waiting->told_us < NOTICE_AGAIN_US;
}

static void remember(struct waiting *waiting, const char *message,
	int64_t now_us)
{
	free(waiting->message);
	waiting->message = xstrdup(message);
	waiting->told_us = now_us;
}

bool notice_unschedulable(struct reporter *reporter, struct waiting *waiting,
	const char *message, int64_t now_us)
{
	if (was_told(waiting, message, now_us)) {
		return true;
	}
	if (!reporter_unschedulable(reporter, waiting->pod, message)) {
		return false;
	}
	log_info("no node fits", log_str("namespace", waiting->pod->namespace),
		log_str("pod", waiting->pod->name), log_str("reason", message),
		LOG_END);
	remember(waiting, message, now_us);
	return true;
}

void notice_error(struct reporter *reporter, struct waiting *waiting,
	const char *message, int64_t now_us)
{
	if (was_told(waiting, message, now_us)) {
		return;
	}
	log_warning("pod not bound",
		log_str("namespace", waiting->pod->namespace),
		log_str("pod", waiting->pod->name), log_str("err", message),
		LOG_END);
	reporter_error(reporter, waiting->pod, message);
	remember(waiting, message, now_us);
}
