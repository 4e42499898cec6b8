#include "aggregator/http/reply.h"

#include "lib/http/httpd_static.h"

/* build/gen/page_files.c has them. */
extern const struct httpd_static_file page_files[];
extern const size_t page_files_count;

const char reply_json[] = "application/json";

void reply_body(struct httpd_request *request, const char *type,
	const struct buffer *body)
{
	if (body->overflowed) {
		httpd_reply_error(request, 500,
			"the response is larger than %d MiB: request one node",
			REPLY_BODY_MAX >> 20);
		return;
	}
	httpd_reply(request, 200, type, body->data, body->len);
}

void reply_vm_not_found(const struct api *api, struct httpd_request *request,
	const struct api_vm *vm)
{
	if (api->identities == NULL) {
		httpd_reply_error(request, 404,
			"VMs have no names: no API server configured "
			"(--kubeconfig)");
	} else {
		httpd_reply_error(request, 404,
			"no VM '%.63s/%.253s' is running or has a stored "
			"history",
			vm->namespace, vm->name);
	}
}

void reply_page_file(struct httpd_request *request, const char *name)
{
	httpd_static_serve(page_files, page_files_count, name, request);
}

void reply_page(void *owner, struct httpd_request *request)
{
	(void)owner;
	reply_page_file(request, "index.html");
}
