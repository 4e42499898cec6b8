/* GET /v1/nodes/NAME/history and /v1/vms/NAMESPACE/NAME/history. */
#pragma once

#include "aggregator/http/context.h"

struct history_text;
struct json;

/* The history of the node of that name, or of a VM over all its pods; the other
 * one is NULL. */
struct api_history {
	const char *node;
	const struct api_vm *vm;
	/* As in struct history_text; NULL: the form of /v1. */
	void (*begin)(struct json *j, const struct history_text *text);
};

/* 404 if there is no stored history, and the node is not live or the VM not
 * running. */
void api_history_serve(struct api *api, const struct api_history *of,
	struct httpd_request *request);
