/* Logs for people (klog's text format) and for machines (JSON): one line and
 * one write(2) per message to standard error, with control bytes escaped and
 * long values truncated. Tokens and keys are never logged.
 *
 *     log_info("pod bound", log_str("pod", name), log_int("ms", ms), LOG_END);
 *
 * A message that outside events can repeat at will is guarded by a struct
 * log_limit, which passes one message per interval and counts the others. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_field {
	const char *key; /* NULL ends the list */
	const char *text;
	double number; /* where text is NULL */
};

#define LOG_END                                                                \
	(struct log_field)                                                     \
	{                                                                      \
		0                                                              \
	}

/* text is borrowed for the call; NULL is logged as "". */
struct log_field log_str(const char *key, const char *text);
struct log_field log_int(const char *key, int64_t value);
struct log_field log_num(const char *key, double value);
struct log_field log_err(const struct error *err); /* key "err" */

/* Applies to all later messages. The default is text from LOG_INFO up. */
void log_setup(enum log_format format, enum log_level least);

void log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields);

#define LOG_AT(level, message, ...)                                            \
	log_write((level), __FILE__, __LINE__, (message),                      \
		(const struct log_field[]){ __VA_ARGS__ })

#define log_debug(...) LOG_AT(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) LOG_AT(LOG_INFO, __VA_ARGS__)
#define log_warning(...) LOG_AT(LOG_WARNING, __VA_ARGS__)
#define log_error(...) LOG_AT(LOG_ERROR, __VA_ARGS__)

struct log_limit {
	uint64_t last_us; /* 0: no message has passed yet */
	uint64_t suppressed;
};

/* True at most once per interval_us of now_us. *suppressed becomes the number
 * of messages suppressed since the last true; suppressed may be NULL. */
bool log_allow(struct log_limit *limit, uint64_t now_us, uint64_t interval_us,
	uint64_t *suppressed);

/* The same for a place that logs different texts: each text has its own limit,
 * so that one does not hide another. In addition there is at least a second
 * between any two messages, because others may choose the texts. Starts
 * zeroed. */
enum { LOG_TOPICS = 8 };
#define LOG_TOPIC_GAP_US UINT64_C(1000000)

struct log_topics {
	struct {
		uint64_t hash, last_us;
	} recent[LOG_TOPICS]; /* the latest texts */
	unsigned next;
	struct log_limit any;
};

bool log_allow_topic(struct log_topics *topics, uint64_t now_us,
	uint64_t interval_us, const char *text, uint64_t *suppressed);
