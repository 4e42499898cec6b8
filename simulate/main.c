/* plimsoll-simulate. */
#include "kube/json_value.h"
#include "lib/memory.h"
#include "lib/program.h"
#include "simulate/simulate_cmd.h"

static const struct program *const programs[] = { &simulate_program };

static const struct program_library libraries[] = {
	{ "cJSON", json_value_library_version },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	(void)argc;
	return program_main(argv, programs, count_of(programs), libraries);
}
