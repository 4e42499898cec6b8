#include "scheduler/moves.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/bind/events.h"
#include "scheduler/cache/queue.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/loads/aggregators.h"
#include "scheduler/make_room/room_report.h"
#include "scheduler/mover/move_actions.h"
#include "scheduler/mover/mover_status.h"
#include "scheduler/mover/vm_beliefs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

enum { ROOM_BODY_MAX = 1 << 20, WHY_MAX = 1024 };

/* A request for /v1/room that waits for the report. */
struct room_request {
	LIST_ENTRY(room_request) link;
	struct moves *moves;
	void (*done)(void *owner, int status, const struct buffer *body);
	void *owner;
};

struct moves {
	struct moves_options options;
	struct mover *mover; /* NULL: moves are off; so are the others */
	struct planner *planner;
	struct make_room *room; /* NULL with --make-room off */
	struct room_report *report;
	struct reach *reach;
	LIST_HEAD(room_requests, room_request) requests;
};

/* ---- what making room asks for ---- */

static void on_wake(void *owner, const char *pod_uid)
{
	struct moves *moves = owner;

	queue_hurry(moves->options.queue, pod_uid);
	moves->options.wake(moves->options.owner);
}

static void on_nominate(void *owner, const struct pod *pod, const char *node)
{
	const struct moves *moves = owner;

	events_nominate(moves->options.events, pod, node);
}

static bool leads(void *owner)
{
	const struct moves *moves = owner;

	return moves->options.is_synced(moves->options.owner) &&
		moves->options.leads(moves->options.owner);
}

/* ---- what aggregators tell of the moves ---- */

static void tell_rebalance(void *owner, struct rebalance_state *out)
{
	static const char *const modes[] = {
		[MOVER_OFF] = "Off",
		[MOVER_RECOMMEND] = "Recommend",
		[MOVER_AUTOMATIC] = "Automatic",
	};
	const struct moves *moves = owner;
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);

	buffer_text(&why, "");
	if (moves->mover == NULL) {
		buffer_text(&why, "--rebalance is off");
	} else {
		mover_explain(moves->mover, &why);
	}
	(void)snprintf(out->mode, sizeof(out->mode), "%s",
		modes[moves->options.config->rebalance]);
	(void)snprintf(out->why, sizeof(out->why), "%s", why.data);
}

static void set_teller(struct moves *moves, const struct rebalance_teller *to)
{
	question_client_tell(moves->options.aggregators->questions, to);
}

/* ---- life ---- */

static void open_mover(struct moves *moves)
{
	const struct moves_options *o = &moves->options;
	const struct scheduler_config *config = o->config;

	moves->mover = mover_new(&(struct mover_options){ .loop = o->loop,
		.client = o->client,
		.cache = o->cache,
		.reservations = o->reservations,
		.upload = o->aggregators->move_upload,
		.history = o->aggregators->move_history,
		.events = o->events,
		.scheduler_name = config->scheduler_name,
		.mode = (enum mover_mode)config->rebalance,
		.room_mode = (enum mover_mode)config->make_room,
		.price = config->rebalance_price,
		.max_per_hour = (unsigned)config->rebalance_max_per_hour,
		.others_us = config->other_migrations_timeout_us,
		.windows = &config->rebalance_windows,
		.windows_text = config->rebalance_windows_text,
		.is_synced = o->is_synced,
		.leads = o->leads,
		.owner = o->owner });
}

static void open_planner(struct moves *moves)
{
	const struct moves_options *o = &moves->options;
	const struct move_actions *actions = mover_actions(moves->mover);

	moves->planner = planner_new(&(struct planner_options){ .loop = o->loop,
		.cache = o->cache,
		.kubevirt = move_actions_kubevirt(actions),
		.records = move_actions_records(actions),
		.conflicts = move_actions_conflicts(actions),
		.scheduler_name = o->config->scheduler_name });
	moves->report = room_report_new(o->loop, o->cache,
		move_actions_kubevirt(actions), moves->planner);
}

static bool knows_vms(void *owner)
{
	struct moves *moves = owner;
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);

	return leads(moves) && kubevirt_is_ready(moves_kubevirt(moves), &why);
}

static void open_reach(struct moves *moves)
{
	moves->reach = reach_new(
		&(const struct reach_options){ .loop = moves->options.loop,
			.cache = moves->options.cache,
			.kubevirt = moves_kubevirt(moves),
			.is_ready = knows_vms,
			.owner = moves });
	mover_use_reach(moves->mover, moves->reach);
}

static void open_room(struct moves *moves)
{
	const struct moves_options *o = &moves->options;

	if (o->config->make_room == MOVER_OFF) {
		return;
	}
	moves->room =
		make_room_new(&(struct make_room_options){ .loop = o->loop,
			.cache = o->cache,
			.queue = o->queue,
			.events = o->events,
			.mover = moves->mover,
			.planner = moves->planner,
			.mode = (enum mover_mode)o->config->make_room,
			.timeout_us = (int64_t)o->config->make_room_timeout_us,
			.leads = leads,
			.wake = on_wake,
			.nominate = on_nominate,
			.owner = moves });
}

struct moves *moves_new(const struct moves_options *options)
{
	struct moves *moves = xcalloc(1, sizeof(*moves));

	moves->options = *options;
	LIST_INIT(&moves->requests);
	vm_beliefs_init(options->cache);
	if (scheduler_config_moves(options->config)) {
		open_mover(moves);
		open_planner(moves);
		open_reach(moves);
		open_room(moves);
	}
	set_teller(moves,
		&(const struct rebalance_teller){ tell_rebalance, moves });
	return moves;
}

static void end_request(struct room_request *request)
{
	LIST_REMOVE(request, link);
	free(request);
}

void moves_close(struct moves *moves)
{
	if (moves == NULL) {
		return;
	}
	set_teller(moves, &(const struct rebalance_teller){ 0 });
	moves_forget_rooms(moves);
	reach_close(moves->reach);
	planner_close(moves->planner);
	room_report_close(moves->report);
	make_room_close(moves->room);
	mover_close(moves->mover);
	free(moves);
}

/* ---- others ---- */

void moves_note_load(struct moves *moves, const struct node_load *load,
	int64_t sample_us)
{
	mover_note_load(moves->mover, load, sample_us);
}

void moves_remember(struct moves *moves, const struct move_record *record)
{
	if (moves->mover != NULL) {
		mover_remember(moves->mover, record);
	}
}

void moves_put_launcher(struct moves *moves, const char *uid,
	const struct json_value *pod)
{
	if (moves->mover != NULL) {
		kubevirt_put_launcher(mover_actions(moves->mover)->kubevirt,
			uid, pod);
	}
}

void moves_launcher_gone(struct moves *moves, const char *uid)
{
	if (moves->mover != NULL) {
		kubevirt_launcher_gone(mover_actions(moves->mover)->kubevirt,
			uid);
	}
}

void moves_unschedulable(struct moves *moves, const struct queued_pod *queued,
	const struct decision *decision, struct buffer *message,
	struct buffer *record)
{
	buffer_text(record, message->data);
	if (moves->mover != NULL) {
		mover_unschedulable(moves->mover, queued->pod, message->data);
	}
	if (moves->room != NULL) {
		make_room_unschedulable(moves->room, queued, decision, message,
			record);
	}
}

void moves_placed(struct moves *moves, const struct pod *pod, const char *node)
{
	if (moves->room != NULL) {
		make_room_placed(moves->room, pod, node);
	}
}

void moves_stats(struct moves *moves, struct moves_stats *out)
{
	*out = (struct moves_stats){ .has_moves = moves->mover != NULL };
	if (!out->has_moves) {
		return;
	}
	mover_stats(moves->mover, &out->mover);
	planner_stats(moves->planner, &out->planner);
	reach_stats(moves->reach, &out->reach);
	if (moves->room != NULL) {
		make_room_stats(moves->room, &out->room);
		/* Either flag orders moves. */
		out->mover.orders |= out->room.orders;
	}
}

void moves_describe(struct moves *moves, struct buffer *out)
{
	if (moves->mover == NULL) {
		mover_status_write_off(out);
	} else {
		mover_describe(moves->mover, out);
	}
}

struct planner *moves_planner(const struct moves *moves)
{
	return moves->planner;
}

const struct kubevirt *moves_kubevirt(const struct moves *moves)
{
	return moves->mover == NULL
		? NULL
		: move_actions_kubevirt(mover_actions(moves->mover));
}

/* ---- GET /v1/room ---- */

static void write_mode(struct json *j, const struct moves *moves)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);
	enum mover_mode mode =
		(enum mover_mode)moves->options.config->make_room;
	struct gate_texts texts;
	struct gate gate;

	move_actions_gate(mover_actions(moves->mover), GATE_ROOM, &gate, &texts,
		moment_now());
	buffer_text(&why, "");
	(void)gate_is_open(&gate, &why);
	json_string(j, "mode", mover_mode_name(mode));
	json_string(j, "effective_mode",
		mover_mode_name(
			mode == MOVER_AUTOMATIC && gate_recommends_only(&gate)
				? MOVER_RECOMMEND
				: mode));
	json_string(j, "why", why.data);
	move_actions_gate_fini(&texts);
}

/* The object is left open. */
static void begin_body(struct json *j, const struct moves *moves)
{
	char when[CLOCK_TEXT_MAX];

	json_object(j, NULL);
	json_string(j, "now", clock_text(when, clock_wall_us()));
	json_number(j, "timeout_s",
		(double)moves->options.config->make_room_timeout_us / 1e6);
	if (moves->mover != NULL) {
		write_mode(j, moves);
	} else {
		json_string(j, "mode", mover_mode_name(MOVER_OFF));
		json_string(j, "effective_mode", mover_mode_name(MOVER_OFF));
		json_string(j, "why",
			"--rebalance is off and --make-room is off");
	}
	if (moves->room != NULL) {
		make_room_describe(moves->room, j);
	} else {
		json_array(j, "making");
		json_array_end(j);
	}
}

static void end_body(struct json *j, const char *fits, const char *error)
{
	if (fits != NULL) {
		json_raw(j, "fits", fits);
	} else {
		json_string(j, "fits_error", error);
	}
	json_object_end(j);
}

static void answer(struct room_request *request, int status,
	struct buffer *body)
{
	if (body->overflowed) {
		buffer_clear(body);
		buffer_text(body,
			"{\"fits_error\":\"the answer is too long\"}");
		status = 500;
	}
	request->done(request->owner, status, body);
	end_request(request);
}

static void on_report(void *owner, const char *fits, const char *error)
{
	struct room_request *request = owner;
	scoped_buffer struct buffer body = BUFFER_MAX(ROOM_BODY_MAX);
	struct json j = json_into(&body);

	begin_body(&j, request->moves);
	end_body(&j, fits, error);
	answer(request, 200, &body);
}

/* Without the report. */
static void answer_now(const struct moves *moves, int status, const char *why,
	struct room_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ROOM_BODY_MAX);
	struct json j = json_into(&body);

	begin_body(&j, moves);
	end_body(&j, NULL, why);
	answer(request, status, &body);
}

void moves_ask_room(struct moves *moves,
	void (*done)(void *owner, int status, const struct buffer *body),
	void *owner)
{
	struct room_request *request = xcalloc(1, sizeof(*request));

	*request = (struct room_request){ .moves = moves,
		.done = done,
		.owner = owner };
	LIST_INSERT_HEAD(&moves->requests, request, link);
	if (moves->report == NULL) {
		answer_now(moves, 200,
			"nothing watches KubeVirt with --rebalance off and "
			"--make-room off",
			request);
	} else if (!room_report_ask(moves->report, on_report, request)) {
		answer_now(moves, 503, "too many requests wait", request);
	}
}

void moves_forget_rooms(struct moves *moves)
{
	struct room_request *request = LIST_FIRST(&moves->requests);

	LIST_INIT(&moves->requests);
	while (request != NULL) {
		struct room_request *next = LIST_NEXT(request, link);

		room_report_forget(moves->report, request);
		free(request);
		request = next;
	}
}

void moves_forget_room(struct moves *moves, const void *owner)
{
	struct room_request *request, *next;

	for (request = LIST_FIRST(&moves->requests); request != NULL;
		request = next) {
		next = LIST_NEXT(request, link);
		if (request->owner == owner) {
			room_report_forget(moves->report, request);
			end_request(request);
		}
	}
}

static void ask_room(void *moves,
	void (*done)(void *owner, int status, const struct buffer *body),
	void *owner)
{
	moves_ask_room(moves, done, owner);
}

static void forget_room(void *moves, void *owner)
{
	moves_forget_room(moves, owner);
}

struct answers_room moves_room(struct moves *moves)
{
	return (struct answers_room){ ask_room, forget_room, moves,
		moves->reach };
}
