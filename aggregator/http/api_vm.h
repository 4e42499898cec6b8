/* GET /v1/vms/NAMESPACE/NAME: the VM's current pods and its profile. */
#pragma once

#include "aggregator/http/context.h"

/* 404 if the VM has no pod in the live table and no stored history. */
void api_vm_serve(struct api *api, const struct api_vm *vm,
	struct httpd_request *request);
