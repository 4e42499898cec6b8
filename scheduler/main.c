/* plimsoll-scheduler: the daemon and its subcommands. */
#include "kube/http.h"
#include "kube/json_value.h"
#include "kube/yaml.h"
#include "lib/certificate_version.h"
#include "lib/httpd.h"
#include "lib/httpd_gzip.h"
#include "lib/httpd_tls.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "proto/wire.h"
#include "scheduler/certificates/certificates_cmd.h"
#include "scheduler/offline/plan_cmd.h"
#include "scheduler/offline/score_cmd.h"
#include "scheduler/offline/simulate_cmd.h"
#include "scheduler/scheduler.h"

static const struct program *const programs[] = {
	&scheduler_program,
	&score_program,
	&plan_program,
	&simulate_program,
	&certificates_program,
};

static const struct program_library libraries[] = {
	{ "libuv", loop_library_version },
	{ "nng", mq_library_version },
	{ "mbedTLS", certificate_library_version },
	{ "protobuf-c", wire_library_version },
	{ "libmicrohttpd", httpd_library_version },
	{ "zlib", httpd_gzip_library_version },
	{ "GnuTLS", httpd_tls_library_version },
	{ "libcurl", http_library_version },
	{ "cJSON", json_value_library_version },
	{ "libyaml", yaml_library_version },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	(void)argc;
	return program_main(argv, programs, count_of(programs), libraries);
}
