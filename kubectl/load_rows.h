/* Rows of `top`: loads of nodes and VMs as a list that is sorted. Pure. */
#pragma once

#include "kubectl/output.h"

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct json_value;

enum load_sort {
	SORT_HEAT,
	SORT_CPU,
	SORT_MEMORY,
	SORT_CONTENTION,
	SORT_IO,
	SORT_NAME
};

/* The figures of one node or VM. Texts are escaped and owned. */
struct load_row {
	char *namespace; /* "" for nodes */
	char *name;
	char *node;   /* a VM's node */
	char *target; /* the node that a VM moves to, or "" */
	char *state, *hottest;
	char *text; /* output_item() */
	double heat, cores, used_cores, used_cores_5m;
	double memory_bytes, memory_share;
	double contention, io_pressure, memory_pressure;
	double vms, age_s;
	double reach; /* other nodes that a VM can reach */
	char *kvm;
};

struct load_rows {
	enum output output;
	bool has_nodes; /* else VMs */
	struct load_row *rows;
	size_t count, capacity;
};

void load_rows_fini(struct load_rows *rows);

/* Adds a NodeLoad or a VmLoad. */
void load_rows_add(struct load_rows *rows, const struct json_value *object);

/* The largest first; unknown figures last; equals by name. */
void load_rows_sort(struct load_rows *rows, enum load_sort by);

/* Appends the table, or the list in the format of rows->output. */
void load_rows_write(struct buffer *out, const struct load_rows *rows,
	bool has_namespaces, bool has_headers);
