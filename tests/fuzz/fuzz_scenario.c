/* Scenario files: an accepted one is simulated and gives finite results. */
#include "simulate/simulate.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void play(const struct scenario *scenario, const char *name,
	const struct move_policy *moves)
{
	struct policy policy;
	struct simulation result;
	const struct simulation_options options = { .policy = &policy,
		.moves = moves };
	struct error err;

	if (policy_find(&policy, name, NULL, &err) < 0 ||
		simulate(&result, scenario, &options, &err) < 0) {
		return;
	}
	if (!isfinite(result.demand) || !isfinite(result.unserved) ||
		(moves == NULL &&
			result.unserved > result.demand * (1 + 1e-6) + 1e-6)) {
		abort();
	}
	simulation_fini(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scenario scenario;
	struct error err;

	if (scenario_parse(&scenario, (const char *)data, size, &err) < 0) {
		return 0;
	}
	/* Many empty steps only cost time. */
	if (scenario.steps <= 1000) {
		play(&scenario, "real-load", NULL);
		play(&scenario, "real-load", &move_policy_rule);
		play(&scenario, "low-risk-overcommit", NULL);
	}
	scenario_fini(&scenario);
	return 0;
}
