/* A simulated morning on nodes that sell their memory one and a half times. */
#include "simulate/simulate.h"

#include <math.h>

#include "lib/buffer.h"
#include "tests/unit/scheduler/given.h"

enum { NODES = 4, VMS = 24, STEPS = 36, TEXT_MAX = 1 << 20 };

struct morning {
	struct simulation result;
	size_t home[VMS]; /* the node of the first placement */
	struct {
		size_t step, vm, node;
	} moves[16];
	size_t move_count;
};

static void note_placed(void *owner, size_t step, size_t vm, size_t node)
{
	struct morning *morning = owner;

	(void)step;
	morning->home[vm] = node;
}

static void note_move(void *owner, size_t step, size_t vm, size_t node,
	enum move_reason reason)
{
	struct morning *morning = owner;

	assert_int_equal(reason, MOVE_FOR_MEMORY);
	assert_true(morning->move_count < count_of(morning->moves));
	morning->moves[morning->move_count].step = step;
	morning->moves[morning->move_count].vm = vm;
	morning->moves[morning->move_count++].node = node;
}

/* A guest of 12 GB that requests 8 GB and uses 5. If it grows, it uses more and
 * more from the sixth step on, up to 11.6 GB in the twelfth. */
static int percent_of(size_t step, bool grows)
{
	size_t grown = step < 6 ? 0 : step - 6;

	return grows ? 60 + 85 * (int)(grown > 6 ? 6 : grown) / 6 : 60;
}

static void write_vm(struct buffer *out, size_t vm, bool grows)
{
	buffer_printf(out,
		"%s{\"name\":\"v%zu\",\"namespace\":\"n\",\"vcpus\":2,"
		"\"memory_bytes\":8000000000,\"cpu_request_millicores\":100,"
		"\"arrive_step\":0,\"leave_step\":%d,\"cpu_percent\":[10",
		vm == 0 ? "" : ",", vm, STEPS);
	for (size_t step = 1; step < STEPS; step++) {
		buffer_text(out, ",10");
	}
	buffer_text(out, "],\"memory_percent\":[60");
	for (size_t step = 1; step < STEPS; step++) {
		buffer_printf(out, ",%d", percent_of(step, grows));
	}
	buffer_text(out, "]}");
}

/* The VMs of home[] 0 grow; NULL: none do. */
static void play(struct morning *morning, const size_t *home,
	const struct move_policy *moves)
{
	scoped_buffer struct buffer text = BUFFER_MAX(TEXT_MAX);
	struct scenario scenario;
	struct policy policy;
	struct error err;
	const struct simulation_options options = {
		.policy = &policy,
		.moves = moves,
		.price = RULE_PRICE,
		.on_placed = note_placed,
		.on_moved = note_move,
		.owner = morning,
	};

	*morning = (struct morning){ 0 };
	buffer_printf(&text, "{\"step_s\":300,\"steps\":%d,\"nodes\":[", STEPS);
	for (size_t i = 0; i < NODES; i++) {
		buffer_printf(&text,
			"%s{\"name\":\"n%zu\",\"cpu_cores\":16,"
			"\"memory_bytes\":64000000000,\"pods\":110}",
			i == 0 ? "" : ",", i);
	}
	buffer_text(&text, "],\"vms\":[");
	for (size_t i = 0; i < VMS; i++) {
		write_vm(&text, i, home != NULL && home[i] == 0);
	}
	buffer_text(&text, "]}");
	if (scenario_parse(&scenario, text.data, text.len, &err) < 0) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(policy_find(&policy, "real-load", NULL, NULL), 0);
	assert_int_equal(simulate(&morning->result, &scenario, &options, &err),
		0);
	scenario_fini(&scenario);
}

static void the_node_that_runs_out_of_memory_gives_a_vm_away(void **state)
{
	struct morning flat, stays, moves;

	(void)state;
	play(&flat, NULL, &move_policy_rule);
	assert_int_equal(flat.result.moves.moves, 0);
	assert_true(flat.result.memory_stalled_pct == 0);
	play(&stays, flat.home, NULL);
	play(&moves, flat.home, &move_policy_rule);
	assert_memory_equal(stays.home, flat.home, sizeof(flat.home));
	/* One node of four, for two thirds of the time. */
	assert_true(stays.result.memory_stalled_pct > 10);
	assert_true(moves.result.memory_stalled_pct <
		stays.result.memory_stalled_pct / 5);
	assert_in_range(moves.result.moves.for_memory, 1, 2);
	assert_int_equal(moves.result.moves.moves,
		moves.result.moves.for_memory);
	assert_int_equal(moves.result.moves.back, 0);
	for (size_t i = 0; i < moves.move_count; i++) {
		assert_int_equal(flat.home[moves.moves[i].vm], 0);
		assert_in_range(moves.moves[i].step, 11, 20);
	}
	print_message("stalled %.2f %% without moves, %.2f %% with %zu\n",
		stays.result.memory_stalled_pct,
		moves.result.memory_stalled_pct, moves.move_count);
	simulation_fini(&flat.result);
	simulation_fini(&stays.result);
	simulation_fini(&moves.result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_node_that_runs_out_of_memory_gives_a_vm_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
