#include "aggregator/apiserver/cells.h"

#include "aggregator/apiserver/load_objects.h"
#include "aggregator/apiserver/record_objects.h"
#include "aggregator/apiserver/status_object.h"
#include "lib/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char unknown[] = "<unknown>";

enum { CELL_MAX = 64 };

static void put_text(struct json *j, const char *text)
{
	json_string(j, NULL, text == NULL || *text == '\0' ? "<none>" : text);
}

static void put_count(struct json *j, uint64_t count)
{
	char text[CELL_MAX];

	(void)snprintf(text, sizeof(text), "%" PRIu64, count);
	json_string(j, NULL, count == REPORT_UNKNOWN ? unknown : text);
}

static void put_cores(struct json *j, double cores)
{
	char text[CELL_MAX];

	(void)snprintf(text, sizeof(text), "%.2f", cores);
	json_string(j, NULL, isfinite(cores) ? text : unknown);
}

static void put_percent(struct json *j, double share)
{
	char text[CELL_MAX];

	(void)snprintf(text, sizeof(text), "%.0f%%", 100 * share);
	json_string(j, NULL, isfinite(share) ? text : unknown);
}

/* Shares of time, of which a few percent are much. */
static void put_share(struct json *j, double share)
{
	char text[CELL_MAX];

	(void)snprintf(text, sizeof(text), "%.1f%%", 100 * share);
	json_string(j, NULL, isfinite(share) ? text : unknown);
}

/* VMs do not report what is next to 0. */
static void put_vm_share(struct json *j, double share)
{
	put_share(j, isfinite(share) ? share : 0);
}

static void put_bytes(struct json *j, double bytes)
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi" };
	char text[CELL_MAX];
	int unit = 0;

	for (; bytes >= 1024 && unit < 5; unit++) {
		bytes /= 1024;
	}
	(void)snprintf(text, sizeof(text),
		bytes < 10 && unit > 0 ? "%.1f%s" : "%.0f%s", bytes,
		units[unit]);
	json_string(j, NULL, isfinite(bytes) ? text : unknown);
}

/* As kubectl writes ages, in one unit or two. */
static void put_age(struct json *j, double seconds)
{
	char text[CELL_MAX];

	if (seconds < 120) {
		(void)snprintf(text, sizeof(text), "%.0fs", fmax(seconds, 0));
	} else if (seconds < 7200) {
		(void)snprintf(text, sizeof(text), "%.0fm",
			floor(seconds / 60));
	} else if (seconds < 172800) {
		(void)snprintf(text, sizeof(text), "%.0fh",
			floor(seconds / 3600));
	} else {
		(void)snprintf(text, sizeof(text), "%.0fd",
			floor(seconds / 86400));
	}
	json_string(j, NULL, isfinite(seconds) ? text : unknown);
}

static void put_time(struct json *j, uint64_t us)
{
	uint64_t now_us = clock_wall_us();

	put_age(j,
		us == 0		      ? NAN
			: now_us > us ? (double)(now_us - us) / 1e6
				      : 0);
}

void cells_of_node(struct json *j, const void *object)
{
	const struct node_object *node = object;
	const struct node_load *load = &node->load;
	char text[CELL_MAX];

	put_text(j, node->state);
	(void)snprintf(text, sizeof(text), "%.1f/%.0f",
		load->cpu_used_cores_10s, load->cpu_cores);
	json_string(j, NULL,
		isfinite(load->cpu_used_cores_10s + load->cpu_cores) ? text
								     : unknown);
	put_percent(j, load->cpu_used_cores_10s / load->cpu_cores);
	put_percent(j,
		1 - load->memory_available_bytes / load->memory_total_bytes);
	put_share(j, load->cpu_contention);
	put_text(j, node->hottest);
	json_unsigned(j, NULL, node->vm_count);
	put_age(j, node->age_seconds);
	put_share(j, load->io_pressure_full_60s);
	put_share(j, load->memory_pressure_full_60s);
	put_text(j, node->kvm.state);
}

void cells_of_vm(struct json *j, const void *object)
{
	const struct vm_object *vm = object;

	put_text(j, vm->node_name);
	put_cores(j, vm->load.used_cores);
	put_cores(j, vm->load.used_cores_5m);
	put_bytes(j, vm->load.memory_bytes);
	put_vm_share(j, vm->load.contention);
	put_text(j, vm->state);
	put_age(j, vm->age_seconds);
	put_text(j, vm->pod_list.count > 1 ? vm->pods[1].node_name : NULL);
	put_vm_share(j, vm->load.memory_pressure);
	put_vm_share(j, vm->load.io_pressure);
	put_count(j, vm->reachable_nodes);
}

void cells_of_decision(struct json *j, const void *object)
{
	const struct decision_object *decision = object;
	char text[CELL_MAX];

	put_text(j, decision->vm_name);
	put_text(j, decision->chosen);
	(void)snprintf(text, sizeof(text), "%.1f", decision->margin);
	put_text(j, isfinite(decision->margin) ? text : NULL);
	put_text(j, decision->decided_by);
	put_time(j, decision->time_us);
	put_text(j, decision->pod_name);
	put_text(j, decision->sentence);
}

void cells_of_move(struct json *j, const void *object)
{
	const struct move_object *move = object;

	put_text(j, move->record.vm);
	put_text(j, move->record.source);
	put_text(j, move->record.target);
	put_text(j, move->reason);
	put_text(j, move->state);
	put_time(j, move->record.wall_us);
	put_text(j, move->sentence);
}

void cells_of_status(struct json *j, const void *object)
{
	const struct status_object *status = object;
	char text[CELL_MAX];

	put_text(j, status->version);
	put_text(j, status->store.state);
	(void)snprintf(text, sizeof(text), "%u/%u", status->agents.fresh,
		status->agents.fresh + status->agents.stale +
			status->agents.lost);
	json_string(j, NULL, text);
	put_text(j, status->store.reason);
}
