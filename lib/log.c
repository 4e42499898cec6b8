#include "lib/log.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Longer lines are truncated; no intended message is longer. */
enum { LOG_LINE_MAX = 8192, LOG_VALUE_MAX = 1024 };

/* The only mutable globals of the project, because everything logs. */
static _Atomic int chosen_format = LOG_TEXT;
static _Atomic int least_level = LOG_INFO;

struct log_field log_str(const char *key, const char *text)
{
	return (struct log_field){ key, text == NULL ? "" : text, 0 };
}

struct log_field log_int(const char *key, int64_t value)
{
	return (struct log_field){ key, NULL, (double)value };
}

struct log_field log_num(const char *key, double value)
{
	return (struct log_field){ key, NULL, value };
}

struct log_field log_err(const struct error *err)
{
	return (struct log_field){ "err", err->text, 0 };
}

void log_setup(enum log_format format, enum log_level least)
{
	atomic_store(&chosen_format, (int)format);
	atomic_store(&least_level, (int)least);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* The number of bytes to log; never splits a UTF-8 sequence. */
static size_t shown_len(const char *text)
{
	size_t len = strnlen(text, LOG_VALUE_MAX);

	for (size_t i = 0; i < 3 && (text[len] & 0xc0) == 0x80; i++) {
		len--;
	}
	return len;
}

/* Like Go's %q, as far as logs need it: quotes, escapes, one line. */
static void append_quoted(struct buffer *out, const char *text)
{
	size_t len = shown_len(text);

	buffer_char(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\') {
			buffer_printf(out, "\\%c", c);
		} else if (c == '\n') {
			buffer_text(out, "\\n");
		} else if (c < 0x20 || c == 0x7f) {
			buffer_printf(out, "\\x%02x", c);
		} else {
			buffer_char(out, (char)c);
		}
	}
	buffer_text(out, text[len] == '\0' ? "\"" : "...\"");
}

/* I1025 00:15:15.525108 1 file.c:79] "message" key="value" number=3 */
static void write_text(struct buffer *out, enum log_level level,
	const char *where, const char *message, const struct log_field *fields)
{
	char when[CLOCK_TEXT_MAX];

	clock_text(when, clock_wall_us());
	buffer_printf(out, "%c%.2s%.2s %.15s %ld %s] ", "DIWE"[level], when + 5,
		when + 8, when + 11, syscall(SYS_gettid), where);
	append_quoted(out, message);
	for (; fields->key != NULL; fields++) {
		buffer_printf(out, " %s=", fields->key);
		if (fields->text != NULL) {
			append_quoted(out, fields->text);
		} else {
			buffer_printf(out, "%.15g", fields->number);
		}
	}
	buffer_char(out, '\n');
}

static void json_cut(struct json *j, const char *key, const char *text)
{
	scoped_free char *cut = NULL;
	size_t len = shown_len(text);

	if (text[len] != '\0') {
		cut = xasprintf("%.*s...", (int)len, text);
	}
	json_string(j, key, cut == NULL ? text : cut);
}

static void write_json(struct buffer *out, enum log_level level,
	const char *where, const char *message, const struct log_field *fields)
{
	static const char *const names[] = { "debug", "info", "warning",
		"error" };
	char when[CLOCK_TEXT_MAX];
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "ts", clock_text(when, clock_wall_us()));
	json_string(&j, "level", names[level]);
	json_string(&j, "caller", where);
	json_cut(&j, "msg", message);
	for (; fields->key != NULL; fields++) {
		if (fields->text != NULL) {
			json_cut(&j, fields->key, fields->text);
		} else {
			json_number(&j, fields->key, fields->number);
		}
	}
	json_object_end(&j);
	buffer_char(out, '\n');
}

static void write_line(struct buffer *out, enum log_level level,
	const char *where, const char *message, const struct log_field *fields)
{
	if (atomic_load(&chosen_format) == LOG_JSON) {
		write_json(out, level, where, message, fields);
	} else {
		write_text(out, level, where, message, fields);
	}
}

void log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields)
{
	scoped_buffer struct buffer out = BUFFER_MAX(LOG_LINE_MAX);
	char where[64];

	if ((int)level < atomic_load(&least_level)) {
		return;
	}
	(void)snprintf(where, sizeof(where), "%s:%d", base_name(file), line);
	write_line(&out, level, where, message, fields);
	if (out.overflowed) {
		buffer_clear(&out);
		write_line(&out, level, where, message,
			&(struct log_field){ 0 });
	}
	/* If standard error is gone, nothing can be reported. */
	if (write(STDERR_FILENO, out.data, out.len) < 0) {
		return;
	}
}

bool log_allow(struct log_limit *limit, uint64_t now_us, uint64_t interval_us,
	uint64_t *suppressed)
{
	if (limit->last_us != 0 && now_us - limit->last_us < interval_us) {
		limit->suppressed++;
		return false;
	}
	limit->last_us = now_us;
	if (suppressed != NULL) {
		*suppressed = limit->suppressed;
	}
	limit->suppressed = 0;
	return true;
}

bool log_allow_topic(struct log_topics *topics, uint64_t now_us,
	uint64_t interval_us, const char *text, uint64_t *suppressed)
{
	uint64_t hash = hash_text(HASH_SEED, text);

	for (unsigned i = 0; i < LOG_TOPICS; i++) {
		if (topics->recent[i].hash == hash &&
			topics->recent[i].last_us != 0 &&
			now_us - topics->recent[i].last_us < interval_us) {
			topics->any.suppressed++;
			return false;
		}
	}
	if (!log_allow(&topics->any, now_us, LOG_TOPIC_GAP_US, suppressed)) {
		return false;
	}
	topics->recent[topics->next].hash = hash;
	topics->recent[topics->next].last_us = now_us;
	topics->next = (topics->next + 1) % LOG_TOPICS;
	return true;
}
