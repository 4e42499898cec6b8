/* plimsoll-aggregator: the daemon and its subcommands. */
#include "aggregator/aggregator.h"
#include "aggregator/backup_cmd.h"
#include "aggregator/export_cmd.h"
#include "lib/memory.h"

static const struct program *const programs[] = {
	&aggregator_program,
	&backup_program,
	&export_program,
};

int main(int argc, char **argv)
{
	(void)argc;
	return program_main(argv, programs, count_of(programs));
}
