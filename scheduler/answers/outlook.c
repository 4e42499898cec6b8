#include "scheduler/answers/outlook.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "proto/question.h"
#include "scheduler/answers/outlook_room.h"
#include "scheduler/score/decide.h"

#include <math.h>

/* A node's name and nine numbers, and the end of the answer. */
enum { NODE_MAX = 4096 };

/* Figures of one resource of a node; NAN: not known. */
struct figures {
	double total, requested, used, expected;
};

/* Both sources count by trust; without trust one of them is not set. */
static double by_trust(const struct score *s, double measured, double otherwise)
{
	if (s->trust <= 0 || s->trust >= 1) {
		return s->trust > 0 ? measured : otherwise;
	}
	return s->trust * measured + (1 - s->trust) * otherwise;
}

static struct figures cpu_of(const struct node *node, const struct score *s)
{
	return (struct figures){ .total = node_shared_cores(node),
		.requested = (double)node->cpu_milli_requested / 1000,
		.used = s->trust > 0 ? node_used_cores(node) : NAN,
		.expected = by_trust(s, s->by_load.expected,
			s->by_requests.expected) };
}

/* The score knows a share, of MemTotal once that was measured. */
static struct figures memory_of(const struct node *node, const struct score *s)
{
	const struct node_metrics *m = &node->metrics;
	bool is_measured = s->trust > 0 && m->memory_total > 0;
	double total =
		is_measured ? m->memory_total : (double)node->memory_bytes;

	return (struct figures){ .total = total,
		.requested = (double)node->memory_bytes_requested,
		.used = is_measured ? m->memory_total - m->memory_available
				    : NAN,
		.expected = s->memory_expected * total };
}

static void write_cpu(struct json *j, const struct figures *cpu)
{
	json_object(j, "cpu");
	json_number(j, "cores", cpu->total);
	json_number(j, "requestedCores", cpu->requested);
	json_number(j, "usedCores", cpu->used);
	json_number(j, "expectedCores", cpu->expected);
	json_object_end(j);
}

static void write_memory(struct json *j, const struct figures *memory)
{
	json_object(j, "memory");
	json_number(j, "totalBytes", memory->total);
	json_number(j, "requestedBytes", memory->requested);
	json_number(j, "usedBytes", memory->used);
	json_number(j, "expectedBytes", round(memory->expected));
	json_object_end(j);
}

static void write_node(struct json *j, const struct node *node,
	const struct score_context *context)
{
	struct figures cpu, memory;
	struct score score;

	score_node(&score, node, context);
	cpu = cpu_of(node, &score);
	memory = memory_of(node, &score);
	json_object(j, NULL);
	json_string(j, "name", node->name);
	json_bool(j, "isUnschedulable", node->is_unschedulable);
	write_cpu(j, &cpu);
	write_memory(j, &memory);
	json_object_end(j);
}

static void write_nodes(struct json *j, const struct outlook *outlook)
{
	static const struct pod nobody = { 0 };
	const struct cluster *cluster = outlook->cluster;
	struct score_context context;
	size_t i = 0;

	decide_context(&context, &nobody, cluster, NULL, outlook->now_us);
	json_array(j, "nodes");
	for (; i < cluster->count && j->out->len < ANSWER_BODY_MAX - NODE_MAX;
		i++) {
		write_node(j, cluster->nodes[i], &context);
	}
	json_array_end(j);
	json_unsigned(j, "nodesLeftOut", cluster->count - i);
}

static void write_head(struct json *j, const char *scheduler, uint64_t wall_us)
{
	char when[CLOCK_TEXT_MAX];

	json_object(j, NULL);
	json_string(j, "scheduler", scheduler);
	json_string(j, "time", clock_text(when, wall_us));
}

void outlook_write(struct buffer *out, const struct outlook *outlook)
{
	struct json j = json_into(out);

	write_head(&j, outlook->scheduler, outlook->wall_us);
	if (outlook->room != NULL) {
		outlook_room_write(&j, outlook->room);
	}
	json_object(&j, "rebalance");
	json_string(&j, "mode", outlook->rebalance);
	json_string(&j, "why", outlook->why);
	json_object_end(&j);
	write_nodes(&j, outlook);
	json_object_end(&j);
}

void outlook_write_vm(struct buffer *out, const struct vm_outlook *vm)
{
	struct json j = json_into(out);

	write_head(&j, vm->scheduler, vm->wall_us);
	if (vm->node != NULL) {
		json_string(&j, "nodeName", vm->node);
	}
	if (vm->is_known) {
		json_bool(&j, "isMovable", vm->is_movable);
	}
	json_string(&j, "reason", vm->reason);
	json_object_end(&j);
}
