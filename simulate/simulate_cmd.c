#include "simulate/simulate_cmd.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/score/policy.h"
#include "simulate/move_policies.h"
#include "simulate/scenario_import.h"
#include "simulate/simulate.h"
#include "simulate/svg.h"

struct simulate_config {
	const char *scenario;			/* or both of the next: */
	const char *recorded, *objects;		/* NULL: not given */
	struct option_list policies;		/* none: the default two */
	struct policy scoring[OPTION_LIST_MAX]; /* from policies */
	bool rebalance;
	const char *move_policy_name;
	const struct move_policy *moves; /* from it; NULL: no moves */
	const char *price_text;
	double price;
	bool json;
	const char *placements, *svg; /* NULL: none */
};

#define ROW(member_, ...)                                                      \
	OPTION_ROW(struct simulate_config, member_, __VA_ARGS__)

static const struct option table[] = {
	ROW(scenario, "scenario", OPTION_TEXT, "FILE",
		.help = "nodes, and VMs with their usage at each step; - is "
			"standard input"),
	ROW(recorded, "recorded", OPTION_TEXT, "FILE",
		.help = "output of plimsoll-aggregator export, instead of "
			"--scenario; requires --objects"),
	ROW(objects, "objects", OPTION_TEXT, "FILE",
		.help = "output of kubectl get nodes,pods -A -o json: the "
			"sizes of the recorded nodes and VMs"),
	ROW(policies, "policy", OPTION_LIST, "NAME",
		.help = "scoring policy; may be repeated; default: real-load "
			"and kube-scheduler"),
	ROW(rebalance, "rebalance", OPTION_BOOL, NULL, .fallback = "false",
		.help = "move running VMs, too"),
	ROW(move_policy_name, "rebalance-policy", OPTION_TEXT, "NAME",
		.fallback = "expected-shortage",
		.help = "how moves are chosen; others are for comparison"),
	ROW(price_text, "price", OPTION_TEXT, "CORE-STEPS", .fallback = "0.15",
		.help = "least saving for a move, in cores times 5 minutes of "
			"expected shortage within the next hour"),
	ROW(json, "json", OPTION_BOOL, NULL, .fallback = "false",
		.help = "print one JSON object instead of a table"),
	ROW(placements, "placements", OPTION_TEXT, "FILE",
		.help = "write each decision to FILE, one JSON object a line"),
	ROW(svg, "svg", OPTION_TEXT, "FILE",
		.help = "write a picture of the load of all nodes to FILE"),
	{ 0 },
};

static const struct options_program options = {
	.name = "plimsoll-simulate",
	.summary = "runs a scenario in virtual time under each policy",
	.usage = "--scenario FILE [--policy NAME]... | --recorded FILE "
		 "--objects FILE",
	.table = table,
};

enum { TEXT_MAX = 64 << 20, LINE_MAX_BYTES = 4096 };

static const struct option_list default_policies = {
	.items = { "real-load", "kube-scheduler" },
	.count = 2,
};

struct run {
	const struct simulate_config *config;
	struct scenario scenario;
	struct simulation results[OPTION_LIST_MAX];
	size_t done;	  /* policies */
	FILE *placements; /* NULL: none */
	bool shows_progress;
	uint64_t shown_us;
};

static void write_line(struct run *run, size_t step, size_t vm, size_t node,
	const char *kind, const char *reason)
{
	const struct scenario *s = &run->scenario;
	scoped_buffer struct buffer text = BUFFER_MAX(LINE_MAX_BYTES);
	struct json j = json_into(&text);

	if (run->placements == NULL) {
		return;
	}
	json_object(&j, NULL);
	if (run->config->policies.count > 1) {
		json_string(&j, "policy",
			run->config->policies.items[run->done]);
	}
	json_unsigned(&j, "step", step);
	json_string(&j, "namespace", s->vms[vm].namespace);
	json_string(&j, "vm", s->vms[vm].name);
	json_string(&j, "node", s->nodes[node].name);
	json_string(&j, "kind", kind);
	if (reason != NULL) {
		json_string(&j, "reason", reason);
	}
	json_object_end(&j);
	(void)fprintf(run->placements, "%s\n", text.data);
}

static void write_placement(void *owner, size_t step, size_t vm, size_t node)
{
	write_line(owner, step, vm, node, "place", NULL);
}

static void write_move(void *owner, size_t step, size_t vm, size_t node,
	enum move_reason reason)
{
	write_line(owner, step, vm, node, "move", move_reason_name(reason));
}

static void show_progress(void *owner, size_t step)
{
	static const char full[] = "########################################";
	enum { WIDTH = sizeof(full) - 1, EVERY_US = 100000 };
	struct run *run = owner;
	uint64_t now_us = clock_monotonic_us();
	bool is_last = step + 1 == run->scenario.steps;
	int filled = (int)((step + 1) * WIDTH / run->scenario.steps);

	if (!run->shows_progress ||
		(!is_last && now_us - run->shown_us < EVERY_US)) {
		return;
	}
	run->shown_us = now_us;
	(void)fprintf(stderr, "\r%-20s [%-*.*s] %3d %%%s",
		run->config->policies.items[run->done], WIDTH, filled, full,
		(int)((step + 1) * 100 / run->scenario.steps),
		is_last ? "\r\x1b[K" : "");
}

static int simulate_all(struct run *run, struct error *err)
{
	int r = 0;

	for (; run->done < run->config->policies.count && r == 0; run->done++) {
		const struct simulation_options simulation = {
			.policy = &run->config->scoring[run->done],
			.moves = run->config->moves,
			.price = run->config->price,
			.on_placed = write_placement,
			.on_moved = write_move,
			.on_step = show_progress,
			.owner = run,
		};

		r = simulate(&run->results[run->done], &run->scenario,
			&simulation, err);
	}
	return r;
}

static void write_result(struct json *j, const struct run *run, size_t i)
{
	const struct simulation *s = &run->results[i];

	json_object(j, NULL);
	json_string(j, "policy", run->config->policies.items[i]);
	json_number(j, "unserved_pct", s->unserved_pct);
	json_number(j, "overload_pct", s->overload_pct);
	json_number(j, "cv_mean", s->cv_mean);
	json_number(j, "memory_stalled_pct", s->memory_stalled_pct);
	json_unsigned(j, "migrations", s->moves.moves);
	json_unsigned(j, "migrations_for_memory", s->moves.for_memory);
	json_number(j, "migrations_per_vm_day", s->moves_per_vm_day);
	json_unsigned(j, "most_migrations_of_one_vm", s->moves.most_of_one_vm);
	json_unsigned(j, "back_within_2h", s->moves.back);
	json_unsigned(j, "worse_in_hindsight", s->moves.worse_in_hindsight);
	json_unsigned(j, "placed", s->placed);
	json_unsigned(j, "unplaced", s->unplaced);
	json_number(j, "decision_us_p50", s->decision_us_p50);
	json_number(j, "decision_us_p99", s->decision_us_p99);
	json_number(j, "unserved_core_steps", s->unserved);
	json_number(j, "demand_core_steps", s->demand);
	json_unsigned(j, "vm_steps", s->vm_steps);
	json_object_end(j);
}

static void write_json(struct buffer *text, const struct run *run)
{
	struct json j = json_into(text);

	if (run->config->policies.count == 1) {
		write_result(&j, run, 0);
	} else {
		json_object(&j, NULL);
		json_array(&j, "policies");
		for (size_t i = 0; i < run->config->policies.count; i++) {
			write_result(&j, run, i);
		}
		json_array_end(&j);
		json_object_end(&j);
	}
	buffer_char(text, '\n');
}

static void write_table(struct buffer *text, const struct run *run)
{
	bool has_moves = run->config->moves != NULL;

	buffer_printf(text, "%-20s %10s %10s %8s %7s %8s %7s %7s", "policy",
		"unserved %", "overload %", "cv", "placed", "unplaced",
		"p50 us", "p99 us");
	buffer_text(text,
		has_moves ? "   moves  /vm-day  most  back  worse\n" : "\n");
	for (size_t i = 0; i < run->config->policies.count; i++) {
		const struct simulation *s = &run->results[i];

		buffer_printf(text,
			"%-20s %10.4f %10.3f %8.4f %7zu %8zu %7.0f %7.0f",
			run->config->policies.items[i], s->unserved_pct,
			s->overload_pct, s->cv_mean, s->placed, s->unplaced,
			s->decision_us_p50, s->decision_us_p99);
		if (has_moves) {
			buffer_printf(text, " %7zu %8.4f %5zu %5zu %6zu",
				s->moves.moves, s->moves_per_vm_day,
				s->moves.most_of_one_vm, s->moves.back,
				s->moves.worse_in_hindsight);
		}
		buffer_char(text, '\n');
	}
}

static int write_file(const char *path, const struct buffer *text,
	struct error *err)
{
	FILE *file = fopen(path, "we");
	int r = 0;

	if (file == NULL) {
		return error_errno(err, "cannot write '%s'", path);
	}
	if (fwrite(text->data, 1, text->len, file) != text->len) {
		r = error_errno(err, "cannot write '%s'", path);
	}
	if (fclose(file) != 0 && r == 0) {
		r = error_errno(err, "cannot write '%s'", path);
	}
	return r;
}

static int write_picture(const struct run *run, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(TEXT_MAX);

	svg_begin(&text, &run->scenario, run->config->policies.count);
	for (size_t i = 0; i < run->config->policies.count; i++) {
		svg_policy(&text, &run->scenario, &run->results[i],
			run->config->policies.items[i], i);
	}
	svg_end(&text);
	if (text.overflowed) {
		return error_set(err, -EFBIG, "the picture is too large");
	}
	return write_file(run->config->svg, &text, err);
}

static int write_results(const struct run *run, FILE *out, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(TEXT_MAX);

	if (run->config->json) {
		write_json(&text, run);
	} else {
		write_table(&text, run);
	}
	if (fwrite(text.data, 1, text.len, out) != text.len ||
		fflush(out) != 0) {
		return error_errno(err, "cannot write the result");
	}
	return run->config->svg != NULL ? write_picture(run, err) : 0;
}

static int read_recorded(struct run *run, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(LINE_MAX_BYTES);
	struct scenario_import_gaps gaps;
	int r = scenario_import_read(&run->scenario, &gaps,
		run->config->recorded, run->config->objects, err);

	if (r == 0) {
		scenario_import_explain(&text, &gaps);
		(void)fputs(text.data != NULL ? text.data : "", stderr);
	}
	return r;
}

static int open_run(struct run *run, struct error *err)
{
	const struct simulate_config *config = run->config;
	int r = 0;

	if (config->placements != NULL) {
		run->placements = fopen(config->placements, "we");
		if (run->placements == NULL) {
			r = error_errno(err, "cannot write '%s'",
				config->placements);
		}
	}
	if (r < 0) {
		return r;
	}
	return config->recorded != NULL
		? read_recorded(run, err)
		: scenario_read(&run->scenario, config->scenario, err);
}

static int close_placements(struct run *run, struct error *err)
{
	bool has_failed;

	if (run->placements == NULL) {
		return 0;
	}
	has_failed = ferror(run->placements) != 0;
	if (fclose(run->placements) != 0 || has_failed) {
		return error_set(err, -EIO, "cannot write '%s'",
			run->config->placements);
	}
	return 0;
}

static int find_policies(struct simulate_config *config, struct error *err)
{
	int r = 0;

	if (config->policies.count == 0) {
		config->policies = default_policies;
	}
	for (size_t i = 0; i < config->policies.count && r == 0; i++) {
		r = policy_find(&config->scoring[i], config->policies.items[i],
			NULL, err);
	}
	return r < 0 ? error_wrap(err, r, "--policy") : 0;
}

static bool read_price(double *out, const char *text)
{
	char *end = NULL;

	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out >= 0 && *out <= 1000;
}

static int find_moves(struct simulate_config *config, struct error *err)
{
	scoped_buffer struct buffer names = BUFFER_MAX(LINE_MAX_BYTES);

	if (!read_price(&config->price, config->price_text)) {
		return error_set(err, -EINVAL,
			"--price: '%.100s' is not a number from 0 to 1000",
			config->price_text);
	}
	config->moves = move_policies_find(config->move_policy_name);
	if (config->moves != NULL) {
		return 0;
	}
	move_policies_list(&names);
	return error_set(err, -EINVAL,
		"--rebalance-policy: unknown policy '%.100s'; there are %s",
		config->move_policy_name, names.data);
}

static int check(void *arguments, struct error *err)
{
	struct simulate_config *config = arguments;
	bool is_recorded = config->recorded != NULL;

	if (config->scenario == NULL && !is_recorded) {
		return error_set(err, -EINVAL,
			"--scenario or --recorded is required");
	}
	if (config->scenario != NULL && is_recorded) {
		return error_set(err, -EINVAL,
			"--scenario and --recorded exclude each other");
	}
	if (is_recorded != (config->objects != NULL)) {
		return error_set(err, -EINVAL,
			"--recorded and --objects require each other");
	}
	if (is_recorded && strcmp(config->recorded, "-") == 0 &&
		strcmp(config->objects, "-") == 0) {
		return error_set(err, -EINVAL,
			"--recorded and --objects cannot both be standard "
			"input");
	}
	if (config->rebalance) {
		int r = find_moves(config, err);

		if (r < 0) {
			return r;
		}
	}
	return find_policies(config, err);
}

/* Progress goes to standard error if that is a terminal. */
static int run(const void *config, struct error *err)
{
	struct run run = {
		.config = config,
		.shows_progress = isatty(STDERR_FILENO) == 1,
	};
	struct error late;
	int r = open_run(&run, err);
	int closed;

	if (r == 0) {
		r = simulate_all(&run, err);
	}
	if (r == 0) {
		r = write_results(&run, stdout, err);
	}
	closed = close_placements(&run, &late);
	if (r == 0 && closed < 0) {
		*err = late;
		r = closed;
	}
	for (size_t i = 0; i < count_of(run.results); i++) {
		simulation_fini(&run.results[i]);
	}
	scenario_fini(&run.scenario);
	return r;
}

const struct program simulate_program = {
	.options = &options,
	.config_size = sizeof(struct simulate_config),
	.check = check,
	.run = run,
};
