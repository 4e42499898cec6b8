#include "kube/client.h"

#include "kube/config.h"
#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* The kubelet replaces a pod's token about 10 minutes before it expires. */
enum { REFRESH_MS = 60000 };

enum { STATUS_UNAUTHORIZED = 401 };

LIST_HEAD(requests, kube_request);

struct kube_client {
	uv_loop_t *loop;
	struct http_client *http;
	struct kube_config config;
	uint64_t generation; /* incremented when config changes */
	struct timer *refresh;
	struct requests requests;
};

struct kube_request {
	LIST_ENTRY(kube_request) all;
	struct kube_client *client;
	struct kube_call call; /* owns path and body */
	struct http_transfer *transfer;
	uint64_t generation; /* of the configuration that was used */
	bool is_second;
};

static void refresh(void *owner)
{
	struct kube_client *client = owner;

	if (kube_config_refresh(&client->config)) {
		client->generation++;
	}
}

static void request_free(struct kube_request *request)
{
	char *path = NULL;
	char *body = NULL;

	LIST_REMOVE(request, all);
	/* The request owns both; they are const only for callers. */
	memcpy(&path, &request->call.path, sizeof(path));
	memcpy(&body, &request->call.body, sizeof(body));
	if (body != NULL) {
		/* It may hold the token of a TokenReview. */
		explicit_bzero(body, request->call.len);
	}
	free(path);
	free(body);
	free(request);
}

/* Sets the reason for a failure: the message of the response's Status. */
static void set_reason(struct error *why, const struct http_response *response)
{
	struct json_value *status = NULL;
	const char *message = NULL;

	if (json_value_parse(&status, response->body, response->len, NULL) ==
		0) {
		message = json_value_text_at(status, "message", NULL);
	}
	if (message != NULL && message[0] != '\0') {
		(void)error_set(why, 0, "%s", message);
	} else {
		(void)error_set(why, 0, "the API server returned status %d",
			response->status);
	}
	json_value_free(status);
}

static void start(struct kube_request *request);

/* Whether the files hold new credentials that may succeed. */
static bool may_retry(struct kube_request *request,
	const struct http_response *response)
{
	struct kube_client *client = request->client;

	if (request->is_second ||
		(response->status != STATUS_UNAUTHORIZED &&
			!response->is_untrusted)) {
		return false;
	}
	refresh(client);
	return request->generation != client->generation;
}

static void on_done(void *owner, const struct http_response *response)
{
	struct kube_request *request = owner;
	http_done done = request->call.on_done;
	void *done_owner = request->call.owner;
	struct error why = { 0 };
	struct http_response out = *response;

	if (may_retry(request, response)) {
		request->is_second = true;
		start(request);
		return;
	}
	if (response->status != 0 && response->status / 100 != 2) {
		set_reason(&why, response);
		out.error = why.text;
	}
	request_free(request);
	done(done_owner, &out);
}

static void on_chunk(void *owner, const char *bytes, size_t len)
{
	const struct kube_request *request = owner;

	request->call.on_chunk(request->call.owner, bytes, len);
}

static void start(struct kube_request *request)
{
	struct kube_client *client = request->client;
	const struct kube_config *config = &client->config;
	const struct kube_call *call = &request->call;
	scoped_free char *url = xasprintf("%s%s", config->server, call->path);
	scoped_free char *type = xasprintf("Content-Type: %s",
		call->type != NULL ? call->type : "application/json");
	scoped_free char *token = xasprintf("Authorization: Bearer %s",
		config->token.text != NULL ? config->token.text : "");
	const char *headers[4] = { "Accept: application/json" };
	size_t count = 1;
	const struct http_tls tls = {
		.ca = config->ca.text,
		.cert = config->cert.text,
		.key = config->key.text,
	};

	if (call->body != NULL) {
		headers[count++] = type;
	}
	if (config->token.text != NULL) {
		headers[count] = token;
	}
	request->generation = client->generation;
	request->transfer = http_send(client->http,
		&(struct http_call){
			.method = call->method,
			.url = url,
			.headers = headers,
			.body = call->body,
			.len = call->len,
			.tls = &tls,
			.priority = call->priority,
			.timeout_ms = call->timeout_ms,
			.max = call->max,
			.needs_new_connection = call->needs_new_connection,
			.on_chunk = call->on_chunk != NULL ? on_chunk : NULL,
			.on_done = on_done,
			.owner = request,
		});
	explicit_bzero(token, strlen(token));
}

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	struct kube_request *request = xcalloc(1, sizeof(*request));

	request->client = client;
	request->call = *call;
	request->call.path = xstrdup(call->path);
	if (call->body != NULL) {
		request->call.body = xmemdup(call->body, call->len);
	}
	if (call->timeout_ms == 0) {
		request->call.timeout_ms = KUBE_TIMEOUT_MS;
	}
	if (call->max == 0) {
		request->call.max = KUBE_RESPONSE_MAX;
	}
	LIST_INSERT_HEAD(&client->requests, request, all);
	start(request);
	return request;
}

void kube_request_cancel(struct kube_request *request)
{
	if (request != NULL) {
		http_cancel(request->transfer);
		request_free(request);
	}
}

struct kube_client *kube_client_new(uv_loop_t *loop, struct kube_config *config)
{
	struct kube_client *client = xcalloc(1, sizeof(*client));
	scoped_free char *agent = xasprintf("plimsoll/%s", plimsoll_version);

	client->loop = loop;
	client->http = http_client_new(loop, agent);
	client->config = *config;
	*config = (struct kube_config){ 0 };
	client->refresh = timer_new(loop, refresh, client);
	timer_start(client->refresh, REFRESH_MS, REFRESH_MS);
	LIST_INIT(&client->requests);
	return client;
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	return client->loop;
}

const char *kube_client_server(const struct kube_client *client)
{
	return client->config.server;
}

const char *kube_client_namespace(const struct kube_client *client)
{
	return client->config.namespace_name;
}

void kube_client_close(struct kube_client *client)
{
	struct kube_request *request;
	struct kube_request *next;

	if (client == NULL) {
		return;
	}
	for (request = LIST_FIRST(&client->requests); request != NULL;
		request = next) {
		next = LIST_NEXT(request, all);
		request_free(request);
	}
	http_client_close(client->http);
	timer_close(client->refresh);
	kube_config_fini(&client->config);
	free(client);
}
