/* The HTTP interface: the routes of docs/http.md. */
#pragma once

#include "aggregator/ingest/ingest.h"
#include "aggregator/live/live.h"
#include "aggregator/remote_write/remote_write.h"
#include "aggregator/store/store.h"
#include "lib/buffer.h"
#include "lib/httpd.h"

struct profiles;

struct api {
	const struct live *live;
	struct store *store;
	struct profiles *profiles;
	const struct identities *identities; /* NULL: nobody says */
	const struct intake *intake;	     /* NULL: nothing is counted */
	const struct remote *remote;	     /* NULL: nothing is sent on */
	size_t metrics_vms;		     /* VMs with series in /metrics */
	size_t streams; /* long answers that are being made or read */
	uint64_t retention_us[STORE_TIERS]; /* the store's */
};

/* Who is asked for in /v1/vms/NAMESPACE/NAME. */
struct api_vm {
	const char *namespace, *name;
	bool is_running; /* a node that reports has a pod of it */
};

/* 20,000 nodes with 30 VMs each are about 100 MB. */
enum { API_BODY_MAX = 256 << 20 };

extern const char api_json[]; /* the media type */

/* Ends the request with 200 and the body, or with an error if it became too
 * large. */
void api_reply_body(struct http_request *request, const char *type,
	const struct buffer *body);

/* True: one more long answer may be begun; else the request is over. */
bool api_has_stream(const struct api *api, struct http_request *request);

/* 404: it is not known, or nothing is by name. */
void api_refuse_vm(const struct api *api, struct http_request *request,
	const struct api_vm *vm);

/* An http_serve; owner is the struct api. */
void api_serve(void *owner, struct http_request *request);
