/* The timers and the aggregators that a mover meets in tests. */
#pragma once

#include "scheduler/mover/mover.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "scheduler/bind/events.h"
#include "scheduler/cache/cache.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/loads/move_history.h"
#include "scheduler/loads/move_upload.h"
#include "scheduler/rebalance/move_records.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/scheduler/given.h"
#include "tests/unit/scheduler/mover/fake_objects.h"
#include "tests/unit/scheduler/mover/told_moves.h"

#include <math.h>

#define SECOND_US INT64_C(1000000)
#define WALL_US UINT64_C(1800000000000000)

struct timer {
	timer_fire fire;
	void *owner;
	bool is_armed, repeats;
};

enum { RECORDS_MAX = 64, VMS = 3, VMS_MAX = 6, TIMERS_MAX = 4 };

static struct scene {
	struct timer timers[TIMERS_MAX];
	size_t timer_count;
	uint32_t drawn; /* random numbers */
	struct cache cache;
	struct reservations reservations;
	struct windows windows;
	struct mover *mover;
	struct move_record sent[RECORDS_MAX];
	size_t sent_count;
	size_t vms;		       /* on node-1 */
	struct move_record earlier[4]; /* that the aggregators hold */
	size_t earlier_count;
	char event[64], note[1024]; /* the last one */
	bool has_history, leads;
	uint64_t asked_us[2];	  /* since then, for records */
	double outside;		  /* cores that node-1 uses outside VMs */
	enum move_reason trouble; /* of node-1; MOVE_FOR_CPU: none */
} scene;

struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner);
void __wrap_timer_start(struct timer *timer, uint64_t first, uint64_t repeat);
void __wrap_timer_stop(struct timer *timer);
void __wrap_timer_close(struct timer *timer);

static inline int64_t now_us(void)
{
	return (int64_t)clock_monotonic_us();
}

struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner)
{
	struct timer *timer = &scene.timers[scene.timer_count++];

	assert_true(scene.timer_count <= TIMERS_MAX);
	(void)loop;
	*timer = (struct timer){ .fire = fire, .owner = owner };
	return timer;
}

void __wrap_timer_start(struct timer *timer, uint64_t first, uint64_t repeat)
{
	(void)first;
	timer->is_armed = true;
	timer->repeats = repeat != 0;
}

void __wrap_timer_stop(struct timer *timer)
{
	timer->is_armed = false;
}

void __wrap_timer_close(struct timer *timer)
{
	timer->is_armed = false;
}

void move_upload_add(struct record_upload *upload,
	const struct move_record *record)
{
	(void)upload;
	assert_true(scene.sent_count < RECORDS_MAX);
	scene.sent[scene.sent_count++] = *record;
	tell_record(record);
}

void move_history_ask(struct move_history *history, uint64_t since_us,
	uint64_t again_us)
{
	(void)history;
	scene.asked_us[0] = since_us;
	scene.asked_us[1] = again_us;
	for (size_t i = 0; i < scene.earlier_count; i++) {
		mover_remember(scene.mover, &scene.earlier[i]);
	}
}

size_t move_history_answered(const struct move_history *history)
{
	(void)history;
	return scene.has_history;
}

bool move_history_is_known(const struct move_history *history)
{
	(void)history;
	return scene.has_history;
}

void events_about_vmi(struct events *events, const struct events_vmi *event,
	int64_t now_us)
{
	(void)events;
	(void)now_us;
	(void)snprintf(scene.event, sizeof(scene.event), "%s", event->reason);
	(void)snprintf(scene.note, sizeof(scene.note), "%s", event->note);
	golden_tell("event of %s/%s: %s: %s\n", event->namespace, event->name,
		event->reason, event->note);
}

static inline bool always(void *owner)
{
	(void)owner;
	return true;
}

static inline bool leads(void *owner)
{
	(void)owner;
	return scene.leads;
}
