/* plimsoll-scheduler: the daemon and its subcommands. */
#include "lib/memory.h"
#include "scheduler/offline/plan_cmd.h"
#include "scheduler/offline/score_cmd.h"
#include "scheduler/offline/simulate_cmd.h"
#include "scheduler/scheduler.h"

static const struct program *const programs[] = {
	&scheduler_program,
	&score_program,
	&plan_program,
	&simulate_program,
};

int main(int argc, char **argv)
{
	(void)argc;
	return program_main(argv, programs, count_of(programs));
}
