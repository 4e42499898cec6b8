/* plimsoll-agent. */
#include "agent/agent.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "lib/tls/certificate.h"
#include "proto/wire.h"

static const struct program *const programs[] = { &agent_program };

static const struct program_library libraries[] = {
	{ "libuv", loop_library_version },
	{ "nng", mq_library_version },
	{ "mbedTLS", certificate_library_version },
	{ "protobuf-c", wire_library_version },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	(void)argc;
	return program_main(argv, programs, count_of(programs), libraries);
}
