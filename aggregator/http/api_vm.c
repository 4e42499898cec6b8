#include "aggregator/http/api_vm.h"

#include "aggregator/http/body.h"
#include "aggregator/http/reply.h"
#include "aggregator/http/sources_text.h"
#include "aggregator/http/vm_pods.h"
#include "aggregator/query/profile_cache.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct response {
	struct api *api;
	struct httpd_request *request;
	struct profile_request vm;
	bool is_running;
};

static void reply(const struct response *response,
	const struct profile_answer *answer)
{
	const struct vm_profile *profile = &answer->profile;
	scoped_buffer struct buffer body = BUFFER_MAX(REPLY_BODY_MAX);
	const struct vm_pods_view view = { response->api->live,
		response->api->identities, clock_monotonic_us() };
	struct json j = json_into(&body);

	json_object(&j, NULL);
	json_string(&j, "namespace", response->vm.namespace);
	json_string(&j, "name", response->vm.name);
	json_array(&j, "pods");
	vm_pods_write_vm(&j, &view, response->vm.namespace, response->vm.name);
	json_array_end(&j);
	if (!isnan(profile->seconds)) {
		body_write_profile(&j, "profile", &response->vm, profile);
	}
	sources_write(&j, &answer->sources);
	json_object_end(&j);
	buffer_char(&body, '\n');
	sources_set_header(response->request, &answer->sources);
	reply_body(response->request, reply_json, &body);
}

/* A running VM is shown even without a profile. */
static void on_profile(void *owner, const struct profile_answer *answer,
	const struct error *err)
{
	struct response *response = owner;

	if (err == NULL || response->is_running) {
		reply(response, answer);
	} else if (err->code == -ENOENT) {
		reply_vm_not_found(response->api, response->request,
			&(struct api_vm){ response->vm.namespace,
				response->vm.name, false });
	} else {
		httpd_reply_error(response->request, 503, "%s", err->text);
	}
	free(response);
}

void api_vm_serve(struct api *api, const struct api_vm *vm,
	struct httpd_request *request)
{
	struct response *response = xcalloc(1, sizeof(*response));

	response->api = api;
	response->request = request;
	response->is_running = vm->is_running;
	(void)snprintf(response->vm.namespace, sizeof(response->vm.namespace),
		"%s", vm->namespace);
	(void)snprintf(response->vm.name, sizeof(response->vm.name), "%s",
		vm->name);
	profile_cache_ask(api->profiles, &response->vm, on_profile, response);
}
