/* plimsoll-aggregator: the daemon and its subcommands. */
#include "aggregator/aggregator.h"
#include "aggregator/backup_cmd.h"
#include "aggregator/export_cmd.h"
#include "aggregator/store/store.h"
#include "kube/http.h"
#include "kube/json_value.h"
#include "kube/yaml.h"
#include "lib/http/httpd.h"
#include "lib/http/httpd_gzip.h"
#include "lib/http/httpd_tls.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "lib/tls/certificate.h"
#include "proto/wire.h"

static const struct program *const programs[] = {
	&aggregator_program,
	&backup_program,
	&export_program,
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
	{ "SQLite", store_library_version },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	(void)argc;
	return program_main(argv, programs, count_of(programs), libraries);
}
