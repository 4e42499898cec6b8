#include "scheduler/answers/reach_answer.h"

#include "kube/json_value.h"
#include "lib/json.h"
#include "proto/question.h"

#include <stddef.h>

/* The first VM of the page. */
static size_t from_of(const struct json_value *body, size_t count)
{
	double from = 0;

	(void)json_value_number(&from, json_value_get(body, "from"));
	return from > 0 && from < (double)count ? (size_t)from
		: from > 0			? count
						: 0;
}

bool reach_answer_write(struct buffer *out, const struct reach *reach,
	const struct json_value *body)
{
	struct json j = json_into(out);
	struct reach_stats stats;
	size_t i, end;

	reach_stats(reach, &stats);
	if (!stats.is_known) {
		return false;
	}
	i = from_of(body, stats.count);
	end = i + REACH_PAGE < stats.count ? i + REACH_PAGE : stats.count;
	json_object(&j, NULL);
	json_object(&j, "reach");
	for (; i < end; i++) {
		unsigned nodes;
		const char *vm = reach_vm(reach, i, &nodes);

		json_unsigned(&j, vm, nodes);
	}
	json_object_end(&j);
	if (end < stats.count) {
		json_unsigned(&j, "next", end);
	}
	json_object_end(&j);
	return true;
}
