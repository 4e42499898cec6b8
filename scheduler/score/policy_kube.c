#include "scheduler/score/policy_kube.h"

#include <math.h>
#include <stdint.h>

#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/score/score.h"

struct use {
	int64_t requested, allocatable;
};

static int64_t least_of(struct use use)
{
	if (use.requested > use.allocatable) {
		return 0;
	}
	/* The product would overflow. */
	if (use.allocatable > INT64_MAX / 100) {
		return (int64_t)((double)(use.allocatable - use.requested) /
			(double)use.allocatable * 100);
	}
	return (use.allocatable - use.requested) * 100 / use.allocatable;
}

static int64_t least_allocated(struct use cpu, struct use memory,
	const struct policy_args *args)
{
	int64_t weight_cpu = (int64_t)args->weight_cpu;
	int64_t weight_memory = (int64_t)args->weight_memory;
	int64_t sum = 0;
	int64_t weights = 0;

	if (cpu.allocatable > 0) {
		sum += weight_cpu * least_of(cpu);
		weights += weight_cpu;
	}
	if (memory.allocatable > 0) {
		sum += weight_memory * least_of(memory);
		weights += weight_memory;
	}
	return weights > 0 ? sum / weights : 0;
}

static double fraction(struct use use)
{
	return fmin((double)use.requested / (double)use.allocatable, 1);
}

/* The standard deviation of two fractions is half their distance; of one, 0. */
static int64_t balanced(struct use cpu, struct use memory)
{
	double deviation = 0;

	if (cpu.allocatable > 0 && memory.allocatable > 0) {
		deviation = fabs(fraction(cpu) - fraction(memory)) / 2;
	}
	return (int64_t)((1 - deviation) * 100);
}

/* A node without a resource counts as full of it. */
static int64_t balanced_1_21(struct use cpu, struct use memory)
{
	double c = cpu.allocatable > 0
		? (double)cpu.requested / (double)cpu.allocatable
		: 1;
	double m = memory.allocatable > 0
		? (double)memory.requested / (double)memory.allocatable
		: 1;

	return c >= 1 || m >= 1 ? 0 : (int64_t)((1 - fabs(c - m)) * 100);
}

/* NonZeroRequested, with this pod. */
static struct use nonzero_cpu(const struct pod *pod, const struct node *node)
{
	return (struct use){
		.requested = node->nonzero_milli + pod->nonzero.cpu_milli,
		.allocatable = node->cpu_milli,
	};
}

static struct use nonzero_memory(const struct pod *pod, const struct node *node)
{
	return (struct use){
		.requested = node->nonzero_bytes + pod->nonzero.memory_bytes,
		.allocatable = node->memory_bytes,
	};
}

void policy_kube_1_21_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy)
{
	struct use cpu = nonzero_cpu(pod, node);
	struct use memory = nonzero_memory(pod, node);

	out->terms[TERM_LEAST_ALLOCATED] =
		(double)least_allocated(cpu, memory, &policy->args);
	out->terms[TERM_BALANCED_ALLOCATION] =
		(double)balanced_1_21(cpu, memory);
	out->total = (out->terms[TERM_LEAST_ALLOCATED] +
			     out->terms[TERM_BALANCED_ALLOCATION]) /
		2;
}

/* Requests of a pod may be absurdly large. */
static int64_t plus(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* 1.36: 75 if the pod does not change the balance, more if it improves it. */
static int64_t balanced_change(const struct pod *pod, const struct node *node)
{
	struct use cpu = { node->cpu_milli_requested, node->cpu_milli };
	struct use memory = { node->memory_bytes_requested,
		node->memory_bytes };
	int64_t without = balanced(cpu, memory);

	cpu.requested = plus(cpu.requested, pod->requests.cpu_milli);
	memory.requested = plus(memory.requested, pod->requests.memory_bytes);
	return 50 + (50 + balanced(cpu, memory) - without) / 2;
}

void policy_kube_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy)
{
	bool has_requests =
		pod->requests.cpu_milli > 0 || pod->requests.memory_bytes > 0;
	double least = (double)least_allocated(nonzero_cpu(pod, node),
		nonzero_memory(pod, node), &policy->args);

	out->terms[TERM_LEAST_ALLOCATED] = least;
	out->total = least;
	if (has_requests) {
		out->terms[TERM_BALANCED_ALLOCATION] =
			(double)balanced_change(pod, node);
		out->total = (least + out->terms[TERM_BALANCED_ALLOCATION]) / 2;
	}
}
