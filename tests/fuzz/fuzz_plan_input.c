/* The input of `plan --in`: the state of a cluster with VMIs and migrations.
 * The first byte chooses the goal. */
#include "scheduler/offline/plan_cmd.h"

#include "lib/memory.h"

#include <stddef.h>
#include <stdint.h>

/* More takes so long that an input looks like a hang. */
enum { MAX_WORK = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const goals[] = { "pod", "empty:a", "move:vms/vm-1",
		"gone:a,b" };
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct plan_question question = {
		.max_moves = 3,
		.max_load = PLAN_LOAD_MAX,
		.max_work = MAX_WORK,
		.scheduler_name = "plimsoll-scheduler",
	};
	struct error err;

	if (size == 0) {
		return 0;
	}
	question.goal_text = goals[data[0] % count_of(goals)];
	if (goal_words_parse(&question.goal, question.goal_text, &err) == 0) {
		int r = plan_text(&out, &question, (const char *)data + 1,
			size - 1, &err);

		(void)r;
	}
	return 0;
}
