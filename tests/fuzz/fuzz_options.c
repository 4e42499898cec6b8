/* Durations and sizes, as in flags and variables. */
#include "lib/options.h"

#include "lib/memory.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Below this a double is exact to the microsecond or byte. */
#define EXACT_MAX (UINT64_C(1) << 53)
#define AMOUNT_MAX UINT64_C(9000000000000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct config {
	uint64_t bytes;
};

static const struct option table[] = {
	{ .name = "size",
		.placeholder = "SIZE",
		.type = OPTION_BYTES,
		.offset = offsetof(struct config, bytes),
		.help = "how much" },
	{ .name = NULL },
};

static int parse_size(uint64_t *bytes, const char *text)
{
	static const struct options_program program = { .name = "fuzz",
		.table = table };
	scoped_free char *flag = xasprintf("--size=%s", text);
	char *argv[] = { "fuzz", flag, NULL };
	struct config config = { 0 };
	enum options_outcome outcome;
	int r = options_parse(&config, &outcome, NULL, &program, argv, NULL);

	*bytes = config.bytes;
	return r;
}

/* A parsed amount must mean the same when written in its base unit. */
static void check_duration(const char *text)
{
	uint64_t us = 0;
	uint64_t again = 0;
	scoped_free char *plain = NULL;

	if (options_duration(&us, text, NULL) < 0 || us >= EXACT_MAX) {
		return;
	}
	plain = xasprintf("%lluus", (unsigned long long)us);
	if (options_duration(&again, plain, NULL) < 0 || again != us) {
		abort();
	}
}

static void check_size(const char *text)
{
	uint64_t bytes = 0;
	uint64_t again = 0;
	scoped_free char *plain = NULL;

	if (parse_size(&bytes, text) < 0) {
		return;
	}
	assert(bytes <= AMOUNT_MAX);
	plain = xasprintf("%llu", (unsigned long long)bytes);
	if (bytes < EXACT_MAX &&
		(parse_size(&again, plain) < 0 || again != bytes)) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free char *text = xstrndup((const char *)data, size);

	check_duration(text);
	check_size(text);
	return 0;
}
