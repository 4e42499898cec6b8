/* A Placement that a user creates. With the answer as its status, an accepted
 * one is such an object again. */
#include "aggregator/apiserver/question_object.h"

#include "aggregator/apiserver/question_reach.h"
#include "kube/json_value.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rest_path path = { .kind = API_PLACEMENTS,
	.namespace = "shop" };

static void write_again(const struct question_object *object)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct question_object again;
	struct json_value *value;

	question_object_write(&out, object, &path, "{\"chosen\":\"node\"}");
	if (out.overflowed) {
		return;
	}
	assert(json_value_parse(&value, out.data, out.len, NULL) == 0);
	assert(strcmp(json_value_text_at(value, "status/chosen", ""), "node") ==
		0);
	json_value_free(value);
	/* A byte that is not UTF-8 becomes three. */
	if (3 * strlen(object->name) >= QUESTION_NAME_MAX) {
		return;
	}
	assert(question_object_read(&again, &path, out.data, out.len, NULL) ==
		0);
	assert(again.spec_len == object->spec_len);
	assert(memcmp(again.spec, object->spec, again.spec_len) == 0);
	question_object_fini(&again);
}

static void check_reach(const struct question_object *object)
{
	struct question_reach reach;

	question_reach_read(&reach, object->spec, object->spec_len, "shop");
	for (size_t i = 0; i < question_reach_reviews(&reach); i++) {
		assert(strcmp(question_reach_namespace(&reach, i), "shop") !=
			0);
	}
	question_reach_fini(&reach);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct question_object object;
	struct error error;
	int status = question_object_read(&object, &path, (const char *)data,
		size, &error);

	assert(status == 0 || status == 400 || status == 422);
	if (status == 0) {
		check_reach(&object);
		assert(strlen(object.spec) == object.spec_len);
		write_again(&object);
	} else {
		assert(error.text[0] != '\0');
	}
	question_object_fini(&object);
	return 0;
}
