#include "aggregator/http/api_vm.h"

#include "aggregator/http/body.h"
#include "aggregator/query/profile_cache.h"
#include "aggregator/http/vm_pods.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Waits for the profile. */
struct page {
	struct api *api;
	struct http_request *request;
	struct profile_request vm;
	bool is_running;
};

static void reply(const struct page *page, const struct vm_past *past)
{
	scoped_buffer struct buffer body = BUFFER_MAX(API_BODY_MAX);
	const struct vms_view view = { page->api->live, page->api->identities,
		clock_monotonic_us() };
	struct json j = json_into(&body);

	json_object(&j, NULL);
	json_string(&j, "namespace", page->vm.namespace);
	json_string(&j, "name", page->vm.name);
	json_array(&j, "pods");
	vms_write_named(&j, &view, page->vm.namespace, page->vm.name);
	json_array_end(&j);
	if (past != NULL && !isnan(past->seconds)) {
		body_write_profile(&j, "profile", &page->vm, past);
	}
	json_object_end(&j);
	buffer_char(&body, '\n');
	api_reply_body(page->request, api_json, &body);
}

/* What runs is shown without a past, too. */
static void on_profile(void *owner, const struct vm_past *past,
	const struct error *err)
{
	struct page *page = owner;

	if (err == NULL || page->is_running) {
		reply(page, past);
	} else if (err->code == -ENOENT) {
		api_refuse_vm(page->api, page->request,
			&(struct api_vm){ page->vm.namespace, page->vm.name,
				false });
	} else {
		http_reply_error(page->request, 503, "%s", err->text);
	}
	free(page);
}

void api_serve_vm(struct api *api, const struct api_vm *vm,
	struct http_request *request)
{
	struct page *page = xcalloc(1, sizeof(*page));

	page->api = api;
	page->request = request;
	page->is_running = vm->is_running;
	(void)snprintf(page->vm.namespace, sizeof(page->vm.namespace), "%s",
		vm->namespace);
	(void)snprintf(page->vm.name, sizeof(page->vm.name), "%s", vm->name);
	profiles_ask(api->profiles, &page->vm, on_profile, page);
}
