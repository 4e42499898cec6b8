/* A mover in a cluster of two nodes with three VMs on the first. */
#pragma once

#include "tests/unit/scheduler/mover/mover_loads.h"
#include "tests/unit/scheduler/mover/told_state.h"

/* A timer that repeats fires once, another one until nothing starts it. */
static inline void fire(struct timer *timer)
{
	while (timer->is_armed) {
		timer->is_armed = timer->repeats;
		timer->fire(timer->owner);
		if (timer->repeats) {
			return;
		}
	}
}

/* Runs the timers, second by second, with loads of these cores for each VM. */
static inline void run(unsigned seconds, double cores)
{
	for (unsigned i = 0; i < seconds; i++) {
		fake_clock_move(SECOND_US);
		if (i % 5 == 0) {
			put_loads(cores);
		}
		for (size_t t = 0; t < scene.timer_count; t++) {
			fire(&scene.timers[t]);
		}
	}
}

static inline void start_mover(enum mover_mode mode, enum mover_mode room_mode)
{
	scene.mover = mover_new(&(struct mover_options){
		.cache = &scene.cache,
		.reservations = &scene.reservations,
		.upload = (struct record_upload *)&scene,
		.events = (struct events *)&scene,
		.scheduler_name = "plimsoll-scheduler",
		.mode = mode,
		.room_mode = room_mode,
		.price = 0.2,
		.windows = &scene.windows,
		.windows_text = "",
		.is_synced = always,
		.leads = leads,
	});
}

static inline void start(enum mover_mode mode)
{
	start_mover(mode, MOVER_OFF);
}

static char namespace[] = "vms";
static char node_1[] = "node-1", node_2[] = "node-2";
static char names[VMS_MAX][2] = { "a", "b", "c", "d", "e", "f" };
static char uids[VMS_MAX][8] = { "vmi-a", "vmi-b", "vmi-c", "vmi-d", "vmi-e",
	"vmi-f" };

/* The next VM, on node-1. */
static inline void add_vm(const char *scheduler)
{
	size_t i = scene.vms++;

	put_vm(vm_names[i], "node-1", scheduler);
	fake_vmi(names[i], uids[i], node_1)->namespace = namespace;
}

static inline int setup(void **state)
{
	(void)state;
	log_setup(LOG_TEXT, LOG_ERROR);
	fake_reset();
	fake_clock_set(1000 * SECOND_US, WALL_US + 1000 * SECOND_US);
	scene = (struct scene){ .has_history = true, .leads = true };
	cache_init(&scene.cache);
	reservations_init(&scene.reservations, &scene.cache);
	assert_int_equal(windows_parse(&scene.windows, "", NULL), 0);
	put_node("node-1");
	put_node("node-2");
	for (size_t i = 0; i < VMS; i++) {
		add_vm("plimsoll-scheduler");
	}
	return 0;
}

static inline int teardown(void **state)
{
	tell_state();
	assert_golden_told(GOLDEN_PROGRAM, *state);
	mover_close(scene.mover);
	reservations_fini(&scene.reservations);
	cache_fini(&scene.cache);
	return 0;
}

static inline const struct move_record *last_sent(void)
{
	assert_true(scene.sent_count > 0);
	return &scene.sent[scene.sent_count - 1];
}

static inline void assert_says(const char *text)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);

	mover_describe(scene.mover, &out);
	given_check(strstr(out.data, text) != NULL, out.data);
}

/* KubeVirt tells the mover of its migration. */
static inline void tell(struct migration *migration, const struct vmi *vmi)
{
	fake_kubevirt.options.on_migration(fake_kubevirt.options.owner,
		migration, vmi);
}

static inline bool is_reserved(void)
{
	return scene.reservations.by_vmi.count > 0;
}
