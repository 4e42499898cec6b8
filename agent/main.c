/* plimsoll-agent. */
#include "agent/agent.h"
#include "lib/memory.h"

static const struct program *const programs[] = { &agent_program };

int main(int argc, char **argv)
{
	(void)argc;
	return program_main(argv, programs, count_of(programs));
}
