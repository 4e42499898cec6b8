/* The plugin's command line, and the labels of --node-selector: arguments that
 * end with newlines. */
#include "kube/json_value.h"
#include "kubectl/flags.h"
#include "kubectl/selector_json.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARGUMENTS = 400 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free char *text = xstrndup((const char *)data, size);
	const char *arguments[ARGUMENTS + 1] = { NULL };
	struct flags flags = { 0 };
	size_t count = 0;
	char *at = text;

	while (at != NULL && count < ARGUMENTS) {
		arguments[count++] = strsep(&at, "\n");
	}
	assert(flags_find_command(arguments) <= count);
	if (flags_parse(&flags, UINT32_MAX >> (size % 32), arguments, NULL) ==
		0) {
		assert(count > flags.name_count || flags.global_count == 0);
	}
	assert(flags.name_count <= FLAGS_NAMES_MAX);
	assert(flags.global_count <= FLAGS_GLOBAL_MAX);
	flags_fini(&flags);
	for (size_t i = 0; i < count; i++) {
		char *json = NULL;

		if (selector_json(&json, arguments[i], NULL) == 0) {
			struct json_value *value = NULL;
			int r = json_value_parse(&value, json, strlen(json),
				NULL);

			assert(r == 0);
			json_value_free(value);
		}
		free(json);
	}
	return 0;
}
