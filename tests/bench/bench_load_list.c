/* Lists of load.plimsoll.io over 1,000 nodes and 30,000 VMs: the CPU time and
 * the longest turn of the event loop, the size of the text, and the memory of
 * the lists and of the labels. No I/O. */
#include "aggregator/apiserver/load_list.h"

#include "aggregator/apiserver/field_cells.h"
#include "aggregator/live/identity.h"
#include "aggregator/live/live.h"
#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/http/httpd_gzip.h"
#include "lib/memory.h"
#include "tests/bench/cpu.h"
#include "tests/unit/aggregator/sample.h"

#include <malloc.h>
#include <math.h>

enum { NODES = 1000, VMS = 30, PAGE = 500, READ_BYTES = 32 << 10 };

static const uint8_t run[REPORT_RUN_ID_BYTES] = { 7 };

static struct load_view view;
static struct live *live;
static struct identities *identities;
static struct object_labels *pods;

/* Others use this machine, too. */
static uint64_t spent_us(void)
{
	return (uint64_t)cpu_us(RUSAGE_SELF);
}

static double heap_mb(void)
{
	return (double)mallinfo2().uordblks / 1e6;
}

/* The labels of a launcher pod of KubeVirt, and three of the owner. */
static void add_labels(const char *uid, const char *name, int n)
{
	scoped_free char *text = xasprintf(
		"{\"metadata\":{\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
		"\"labels\":{\"kubevirt.io\":\"virt-launcher\","
		"\"kubevirt.io/created-by\":\"%s\","
		"\"kubevirt.io/nodeName\":\"node-%04d\","
		"\"vm.kubevirt.io/name\":\"%s\",\"vmi.kubevirt.io/id\":\"%s\","
		"\"app.kubernetes.io/name\":\"shop\","
		"\"app.kubernetes.io/instance\":\"blue\",\"tier\":\"f\"}}}",
		uid, n, name, name);
	struct json_value *pod;

	assert_int_equal(json_value_parse(&pod, text, strlen(text), NULL), 0);
	object_labels_put(pods, uid, pod);
	json_value_free(pod);
}

static void add_node(int n)
{
	scoped_free char *node = xasprintf("node-%04d", n);
	struct report report = steady_report(1, 10, 2);
	struct vm_pod vms[VMS];

	for (int v = 0; v < VMS; v++) {
		scoped_free char *uid =
			xasprintf("%08d-0000-4000-8000-%012d", n, v);
		scoped_free char *namespace = xasprintf("team-%02d", v);
		scoped_free char *name = xasprintf("vm-%04d-%02d", n, v);

		vms[v] = sample_vm(uid, (uint64_t)v + 1);
		identities_put(identities, uid,
			&(struct identity){ namespace, name, uid, node });
		add_labels(uid, name, n);
	}
	sample_add_vms(&report, vms, VMS);
	assert_int_equal(live_add(live,
				 &(struct live_sample){ node, run, &report,
					 (int64_t)clock_monotonic_us(), 1 },
				 clock_monotonic_us(), NULL),
		0);
	report_fini(&report);
}

struct cost {
	uint64_t select_us, longest_us, all_us;
	size_t bytes, gzip_bytes;
	uint64_t gzip_us;
	double heap_mb; /* of the list, without its text */
};

/* As the HTTP server's thread does, beside the event loop. */
static void compress(struct cost *cost, struct httpd_gzip *gzip,
	const struct buffer *part, bool is_last)
{
	static char out[READ_BYTES];
	struct httpd_gzip_text text = { part->data, part->len, is_last };
	uint64_t begin_us = spent_us();
	size_t len = 1;

	while (len > 0) {
		len = httpd_gzip_write(gzip, &text, out, sizeof(out));
		cost->gzip_bytes += len;
	}
	cost->gzip_us += spent_us() - begin_us;
}

static struct cost list(const struct load_query *query, char next[PAGE_KEY_MAX])
{
	struct httpd_gzip *gzip = httpd_gzip_new();
	struct buffer part = BUFFER_MAX(16 << 20);
	uint64_t begin_us = spent_us();
	double before_mb = heap_mb();
	struct httpd_stream stream =
		load_list_stream(load_list_new(&view, query));
	struct cost cost = { .select_us = spent_us() - begin_us };
	bool goes_on = true;

	cost.heap_mb = heap_mb() - before_mb;
	while (goes_on) {
		uint64_t turn_us = spent_us();

		buffer_clear(&part);
		goes_on = stream.next(stream.owner, &part);
		turn_us = spent_us() - turn_us;
		cost.longest_us =
			turn_us > cost.longest_us ? turn_us : cost.longest_us;
		cost.bytes += part.len;
		compress(&cost, gzip, &part, !goes_on);
	}
	cost.all_us = spent_us() - begin_us - cost.gzip_us;
	httpd_gzip_free(gzip);
	next[0] = '\0';
	if (strstr(part.data, "\"continue\":\"") != NULL) {
		char *token = strstr(part.data, "\"continue\":\"") + 12;

		*strchr(token, '"') = '\0';
		assert_int_equal(page_token_read(next, token, 5,
					 api_plural(query->kind), NULL),
			0);
	}
	stream.done(stream.owner);
	buffer_fini(&part);
	return cost;
}

static void print_cost(const char *what, const struct cost *cost)
{
	(void)fprintf(stdout,
		"%-28s %8.1f ms, selects in %5.1f ms, longest turn %4.1f ms, "
		"%5.1f MB of text, list %4.1f MB; gzip %4.1f MB in %5.1f ms\n",
		what, (double)cost->all_us / 1e3, (double)cost->select_us / 1e3,
		(double)cost->longest_us / 1e3, (double)cost->bytes / 1e6,
		cost->heap_mb, (double)cost->gzip_bytes / 1e6,
		(double)cost->gzip_us / 1e3);
}

static void list_pages(struct load_query *query)
{
	struct cost sum = { 0 };

	query->limit = PAGE;
	do {
		struct cost cost = list(query, query->after);

		sum.all_us += cost.all_us;
		sum.bytes += cost.bytes;
		sum.gzip_bytes += cost.gzip_bytes;
		sum.gzip_us += cost.gzip_us;
		sum.heap_mb = fmax(sum.heap_mb, cost.heap_mb);
		sum.select_us = cost.select_us > sum.select_us ? cost.select_us
							       : sum.select_us;
		sum.longest_us = cost.longest_us > sum.longest_us
			? cost.longest_us
			: sum.longest_us;
	} while (query->after[0] != '\0');
	print_cost("30,000 VMs in pages of 500", &sum);
}

static const char cells[] =
	"metadata.namespace,metadata.name,spec.nodeName,status.state,"
	"status.ageSeconds,status.usedCores,status.usedCores5m,"
	"status.memoryBytes,status.swapBytes,status.contention,"
	"status.memoryPressure,status.ioPressure";

int main(void)
{
	struct load_query query = { .kind = API_NODE_LOADS,
		.namespace = "",
		.name = "",
		.form = ACCEPT_TABLE };
	char next[PAGE_KEY_MAX];
	double before_mb;
	struct cost cost;

	identities = identities_new();
	pods = object_labels_new();
	live = live_new(5, identities);
	view = (struct load_view){ .live = live,
		.identities = identities,
		.pods = pods };
	for (int n = 0; n < NODES; n++) {
		add_node(n);
	}
	before_mb = heap_mb();
	cost = list(&query, next);
	print_cost("1,000 nodes as a Table", &cost);
	query.kind = API_VM_LOADS;
	cost = list(&query, next);
	print_cost("30,000 VMs as a Table", &cost);
	assert_int_equal(
		field_cells_parse(&query.cells, cells, query.kind, NULL), 0);
	cost = list(&query, next);
	print_cost("30,000 VMs, 12 fields", &cost);
	query.cells = NULL;
	query.form = ACCEPT_JSON;
	cost = list(&query, next);
	print_cost("30,000 VMs as objects", &cost);
	query.form = ACCEPT_TABLE;
	list_pages(&query);
	object_labels_free(pods);
	(void)fprintf(stdout, "labels of 30,000 pods: %.1f MB\n",
		before_mb - heap_mb());
	live_free(live);
	identities_free(identities);
	return 0;
}
