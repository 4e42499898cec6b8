/* The bed of tests of making room: its begin and end, and what can be seen. */
#pragma once

#include "lib/json.h"
#include "scheduler/mover/move_actions.h"
#include "tests/unit/scheduler/make_room/room_steps.h"
#include "tests/unit/scheduler/make_room/told_attempts.h"

static inline void room_start(enum mover_mode mode)
{
	scene.timer_count = 0;
	start_mover(MOVER_OFF, mode);
	room.room = make_room_new(&(struct make_room_options){
		.cache = &scene.cache,
		.queue = &room.queue,
		.mover = scene.mover,
		.planner = &fake_planner,
		.mode = mode,
		.timeout_us = ROOM_TIMEOUT_S * SECOND_US,
		.leads = leads,
		.wake = on_wake,
		.nominate = on_nominate,
	});
}

static inline void room_stop(void)
{
	fake_search(false);
	make_room_close(room.room);
	mover_close(scene.mover);
}

static inline int room_setup(void **state)
{
	char *const nodes[] = { node_1, node_1, node_2, node_3 };

	(void)state;
	log_setup(LOG_TEXT, LOG_ERROR);
	fake_reset();
	fake_clock_set(1000 * SECOND_US, WALL_US + 1000 * SECOND_US);
	scene = (struct scene){ .has_history = true, .leads = true };
	room = (struct room_scene){ .nominated = "-" };
	fake_planner = (struct planner){ .sentence = "" };
	queue_init(&room.queue);
	cache_init(&scene.cache);
	reservations_init(&scene.reservations, &scene.cache);
	assert_int_equal(windows_parse(&scene.windows, "", NULL), 0);
	put_node("node-1");
	put_node("node-2");
	put_node("node-3");
	for (size_t i = 0; i < count_of(nodes); i++) {
		put_old_vm(i, nodes[i]);
	}
	room_loads();
	return 0;
}

static inline int room_teardown(void **state)
{
	if (room.room != NULL) {
		room_tell_state();
	}
	assert_golden_told(GOLDEN_PROGRAM, *state);
	room_stop();
	decision_fini(&room.decision);
	queue_fini(&room.queue);
	reservations_fini(&scene.reservations);
	cache_fini(&scene.cache);
	return 0;
}

/* Two steps after which node-1 is empty. */
static inline void plan_two(void)
{
	plan_for("node-1", "moving vms/a and vms/b");
	plan_step("a", "node-1", "node-2");
	plan_step("b", "node-1", "node-3");
}

/* ---- what can be seen ---- */

static inline struct make_room_stats stats(void)
{
	struct make_room_stats out;

	make_room_stats(room.room, &out);
	return out;
}

static inline void assert_in(const char *text, const char *part)
{
	given_check(strstr(text, part) != NULL, text);
}

static inline void assert_not_in(const char *text, const char *part)
{
	given_check(strstr(text, part) == NULL, text);
}

static inline void assert_listed(const char *part)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	struct json j = json_into(&out);

	json_object(&j, NULL);
	make_room_describe(room.room, &j);
	json_object_end(&j);
	assert_in(out.data, part);
}

static inline size_t count_listed(const char *part)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	struct json j = json_into(&out);
	const char *at;
	size_t count = 0;

	json_object(&j, NULL);
	make_room_describe(room.room, &j);
	json_object_end(&j);
	for (at = strstr(out.data, part); at != NULL;
		at = strstr(at + 1, part)) {
		count++;
	}
	return count;
}

static inline size_t count_records(enum move_state state)
{
	const struct move_records *records =
		move_actions_records(mover_actions(scene.mover));
	const struct move_record *record;
	size_t count = 0;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		count += record->state == state;
	}
	return count;
}

static inline bool is_held(const char *uid)
{
	return map_get(&scene.cache.nominated_pods, uid) != NULL;
}
