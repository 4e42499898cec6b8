#include "scheduler/moves.h"

#include "tests/support/cm.h"

#include <stdio.h>
#include <string.h>

struct answer {
	unsigned count;
	int status;
	char body[1024];
};

static void on_room(void *owner, int status, const struct buffer *body)
{
	struct answer *answer = owner;

	answer->count++;
	answer->status = status;
	(void)snprintf(answer->body, sizeof(answer->body), "%s", body->data);
}

/* With both flags off, nothing else is opened or asked. */
static void without_moves_the_room_is_answered_at_once(void **state)
{
	const struct scheduler_config config = { .make_room_timeout_us =
							 60000000 };
	struct moves *moves =
		moves_new(&(struct moves_options){ .config = &config });
	struct answer answer = { 0 };
	struct moves_stats stats;
	(void)state;

	moves_ask_room(moves, on_room, &answer);
	assert_int_equal(answer.count, 1);
	assert_int_equal(answer.status, 200);
	assert_non_null(strstr(answer.body, "\"mode\":\"off\""));
	assert_non_null(strstr(answer.body, "\"timeout_s\":60"));
	assert_non_null(strstr(answer.body, "\"making\":[]"));
	assert_non_null(strstr(answer.body, "\"fits_error\":\"nothing"));
	moves_stats(moves, &stats);
	assert_false(stats.has_moves);
	moves_forget_rooms(moves);
	moves_close(moves);
	moves_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_moves_the_room_is_answered_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
