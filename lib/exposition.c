#include "lib/exposition.h"

#include "lib/decimal.h"
#include "lib/files.h"
#include "lib/options.h"
#include "lib/utf8.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const char exposition_type[] = "text/plain; version=0.0.4; charset=utf-8";

void exposition_head(struct buffer *out, const char *name, const char *help,
	enum exposition_kind kind)
{
	static const char *const kinds[] = {
		[EXPOSITION_GAUGE] = "gauge",
		[EXPOSITION_COUNTER] = "counter",
		[EXPOSITION_HISTOGRAM] = "histogram",
	};

	buffer_printf(out, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name,
		kinds[kind]);
}

void exposition_label(struct buffer *out, const char *key, const char *value)
{
	bool is_first = out->len > 0 && out->data[out->len - 1] == '{';

	buffer_printf(out, "%s%s=\"", is_first ? "" : ",", key);
	while (*value != '\0') {
		if (*value == '\n') {
			buffer_text(out, "\\n");
			value++;
			continue;
		}
		if (*value == '"' || *value == '\\') {
			buffer_char(out, '\\');
		}
		value += utf8_append(out, value);
	}
	buffer_char(out, '"');
}

void exposition_value(struct buffer *out, double value)
{
	char text[DECIMAL_MAX];

	buffer_char(out, ' ');
	buffer_append(out, text, decimal_number(text, value, 15));
	buffer_char(out, '\n');
}

void exposition_series(struct buffer *out, const char *name, const char *key,
	const char *value, double number)
{
	buffer_printf(out, "%s{", name);
	exposition_label(out, key, value);
	buffer_char(out, '}');
	exposition_value(out, number);
}

void exposition_single(struct buffer *out, const char *name, const char *help,
	enum exposition_kind kind, double value)
{
	if (isfinite(value)) {
		exposition_head(out, name, help, kind);
		buffer_text(out, name);
		exposition_value(out, value);
	}
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double cpu_seconds(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) < 0
		? NAN
		: seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

/* See proc(5): "size resident ...", in pages. */
static double resident_bytes(void)
{
	char text[256];
	const char *space;

	if (file_read_at(text, sizeof(text), AT_FDCWD, "/proc/self/statm",
		    NULL) < 0) {
		return NAN;
	}
	space = strchr(text, ' ');
	return space == NULL
		? NAN
		: strtod(space, NULL) * (double)sysconf(_SC_PAGESIZE);
}

void exposition_certificates(struct buffer *out, const char *name,
	const struct exposition_certificate *certificates, size_t count)
{
	bool has_head = false;

	for (size_t i = 0; i < count; i++) {
		if (certificates[i].expiry_s == 0) {
			continue;
		}
		if (!has_head) {
			exposition_head(out, name,
				"Unix time at which the certificate expires",
				EXPOSITION_GAUGE);
			has_head = true;
		}
		exposition_series(out, name, "use", certificates[i].use,
			(double)certificates[i].expiry_s);
	}
}

void exposition_authority(struct buffer *out, const char *name,
	int64_t expiry_s)
{
	exposition_single(out, name,
		"Unix time at which the last trusted authority expires",
		EXPOSITION_GAUGE, expiry_s == 0 ? NAN : (double)expiry_s);
}

static void write_responses(struct buffer *out, const char *name,
	const struct exposition_responses *responses)
{
	for (int n = 2; n < 6; n++) {
		buffer_printf(out, "%s{", name);
		exposition_label(out, "listener", responses->listener);
		buffer_printf(out, ",code=\"%dxx\"}", n);
		exposition_value(out, (double)responses->classes[n]);
	}
}

void exposition_responses(struct buffer *out, const char *name,
	const struct exposition_responses *listeners, size_t count)
{
	exposition_head(out, name,
		"HTTP requests that were answered, by listener and status",
		EXPOSITION_COUNTER);
	for (size_t i = 0; i < count; i++) {
		if (listeners[i].listener != NULL) {
			write_responses(out, name, &listeners[i]);
		}
	}
}

static double open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	double count = 0;

	if (dir == NULL) {
		return NAN;
	}
	for (const struct dirent *entry = readdir(dir); entry != NULL;
		entry = readdir(dir)) {
		count += entry->d_name[0] != '.';
	}
	(void)closedir(dir);
	return count - 1; /* that of the directory itself */
}

static double max_fds(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
			limit.rlim_cur == RLIM_INFINITY
		? NAN
		: (double)limit.rlim_cur;
}

void exposition_process(struct buffer *out, uint64_t started_us)
{
	static const char info[] = "plimsoll_build_info";

	exposition_head(out, info, "1, with the version of this program",
		EXPOSITION_GAUGE);
	exposition_series(out, info, "version", plimsoll_version, 1);
	exposition_single(out, "process_cpu_seconds_total",
		"CPU time of this process", EXPOSITION_COUNTER, cpu_seconds());
	exposition_single(out, "process_start_time_seconds",
		"Unix time at which this process started", EXPOSITION_GAUGE,
		(double)started_us / 1e6);
	exposition_single(out, "process_open_fds", "Open file descriptors",
		EXPOSITION_GAUGE, open_fds());
	exposition_single(out, "process_max_fds",
		"Limit of open file descriptors", EXPOSITION_GAUGE, max_fds());
	exposition_single(out, "process_resident_memory_bytes",
		"Resident memory of this process", EXPOSITION_GAUGE,
		resident_bytes());
}
