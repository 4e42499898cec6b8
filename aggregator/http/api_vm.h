/* Answers /v1/vms/NAMESPACE/NAME: the VM's pods now, and its past in a few
 * figures. */
#pragma once

#include "aggregator/http/api.h"

/* 404 if neither a node that reports nor the store knows it. */
void api_serve_vm(struct api *api, const struct api_vm *vm,
	struct http_request *request);
