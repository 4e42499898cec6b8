#include "kube/http.h"

#include "kube/http_queue.h"
#include "kube/http_sockets.h"
#include "kube/http_transfer.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	IDLE_HANDLES = HTTP_REQUESTS,
	IDLE_CONNECTIONS = 48, /* all that are kept, those of streams, too */
	WATCHDOG_MS = 1000,
};

/* curl must not be called inside its own callbacks, so only deliver_all() calls
 * the owners, after curl has returned. Until then a transfer with a due
 * callback is in the ready list. */
struct http_client {
	uv_loop_t *loop;
	char *agent;
	CURLM *multi;
	struct http_sockets sockets;
	struct timer *timer;	/* set by curl */
	struct timer *watchdog; /* see on_watchdog() */
	struct http_transfers all;
	struct http_transfers ready; /* FIFO */
	struct http_queue queue;
	struct http_setup *setup; /* of the last request */
	struct http_handle idle[IDLE_HANDLES];
	size_t idle_count;
	bool is_delivering;
	bool is_closed;
};

static void mark_ready(struct http_transfer *t)
{
	if (!t->is_ready) {
		TAILQ_INSERT_TAIL(&t->client->ready, t, ready);
		t->is_ready = true;
	}
}

static void unmark_ready(struct http_transfer *t)
{
	if (t->is_ready) {
		TAILQ_REMOVE(&t->client->ready, t, ready);
		t->is_ready = false;
	}
}

/* ---- beginning ---- */

static struct http_handle acquire_handle(struct http_client *client,
	struct http_setup *setup)
{
	struct http_handle handle = { 0 };

	if (client->idle_count > 0) {
		handle = client->idle[--client->idle_count];
	}
	http_handle_set_up(&handle, setup);
	http_sockets_set_up(&client->sockets, handle.easy);
	return handle;
}

static void release_handle(struct http_client *client,
	struct http_handle *handle)
{
	if (client->idle_count < IDLE_HANDLES) {
		http_handle_clear(handle);
		client->idle[client->idle_count++] = *handle;
	} else {
		http_handle_fini(handle);
	}
}

static void begin(struct http_transfer *t)
{
	struct http_client *client = t->client;
	uint64_t now_ms = uv_now(client->loop);

	http_transfer_prepare(t, acquire_handle(client, t->setup),
		t->deadline_ms > now_ms ? t->deadline_ms - now_ms : 1);
	(void)curl_multi_add_handle(client->multi, t->handle.easy);
}

static void begin_waiting(struct http_client *client)
{
	struct http_transfer *t;

	while ((t = http_queue_next(&client->queue, uv_now(client->loop))) !=
		NULL) {
		begin(t);
	}
}

/* Ends those whose time is over while they wait. */
static void end_waiting(struct http_client *client)
{
	static const char reason[] = "it waited for other requests";
	struct http_transfer *t;

	while ((t = http_queue_expired(&client->queue, uv_now(client->loop))) !=
		NULL) {
		t->result = CURLE_OPERATION_TIMEDOUT;
		(void)memcpy(t->reason, reason, sizeof(reason));
		t->is_over = true;
		mark_ready(t);
	}
}

static void end_transfer(struct http_transfer *t)
{
	struct http_client *client = t->client;

	unmark_ready(t);
	http_queue_leave(&client->queue, t);
	TAILQ_REMOVE(&client->all, t, all);
	if (TAILQ_EMPTY(&client->all)) {
		timer_stop(client->watchdog);
	}
	if (t->handle.easy != NULL) {
		(void)curl_multi_remove_handle(client->multi, t->handle.easy);
		release_handle(client, &t->handle);
	}
	http_transfer_free(t);
}

/* ---- callbacks of the owners ---- */

/* Calls on_done. The transfer is freed first. */
static void deliver_end(struct http_transfer *t)
{
	scoped_free char *sentence = NULL;
	struct http_response response = http_transfer_response(t, &sentence);
	struct buffer body = t->received; /* the response points into it */
	http_done on_done = t->call.on_done;
	void *owner = t->call.owner;

	struct http_client *client = t->client;

	t->received = (struct buffer){ 0 };
	end_transfer(t);
	begin_waiting(client);
	on_done(owner, &response);
	buffer_fini(&body);
}

/* Makes one callback; the others follow later. May free t. */
static void deliver(struct http_transfer *t)
{
	if (t->has_begun) {
		t->has_begun = false;
		mark_ready(t);
		t->call.on_chunk(t->call.owner, "", 0);
	} else if (http_transfer_streams(t) && t->received.len > 0) {
		scoped_buffer struct buffer bytes = t->received;

		t->received = BUFFER_SECRET(bytes.max);
		t->received.overflowed = bytes.overflowed;
		mark_ready(t);
		t->call.on_chunk(t->call.owner, bytes.data, bytes.len);
	} else if (t->is_over) {
		deliver_end(t);
	}
}

static void collect_ends(struct http_client *client)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
		struct http_transfer *t = NULL;

		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
			&t);
		t->result = message->data.result;
		t->is_over = true;
		(void)curl_multi_remove_handle(client->multi, t->handle.easy);
		mark_ready(t);
	}
}

static void client_free(struct http_client *client)
{
	while (client->idle_count > 0) {
		http_handle_fini(&client->idle[--client->idle_count]);
	}
	http_setup_release(client->setup);
	(void)curl_multi_cleanup(client->multi);
	http_sockets_fini(&client->sockets);
	timer_close(client->timer);
	timer_close(client->watchdog);
	free(client->agent);
	free(client);
	curl_global_cleanup();
}

static void deliver_all(struct http_client *client)
{
	client->is_delivering = true;
	collect_ends(client);
	while (!TAILQ_EMPTY(&client->ready)) {
		struct http_transfer *t = TAILQ_FIRST(&client->ready);

		unmark_ready(t);
		deliver(t);
	}
	client->is_delivering = false;
	if (client->is_closed) {
		client_free(client);
	}
}

/* ---- curl on libuv ---- */

static void act(void *owner, curl_socket_t fd, int events)
{
	struct http_client *client = owner;
	int running;

	(void)curl_multi_socket_action(client->multi, fd, events, &running);
	deliver_all(client);
}

static void on_timer(void *owner)
{
	act(owner, CURL_SOCKET_TIMEOUT, 0);
}

/* Some releases of curl lost a timer now and then. Checking once a second
 * during requests costs nothing and recovers from that. */
static void on_watchdog(void *owner)
{
	struct http_client *client = owner;

	end_waiting(client);
	begin_waiting(client);
	act(owner, CURL_SOCKET_TIMEOUT, 0);
}

static int set_timer(CURLM *multi, long timeout_ms, void *owner)
{
	struct http_client *client = owner;

	(void)multi;
	if (timeout_ms < 0) {
		timer_stop(client->timer);
	} else {
		timer_start(client->timer, (uint64_t)timeout_ms, 0);
	}
	return 0;
}

static struct http_setup *setup_of(struct http_client *client,
	const struct http_call *call)
{
	if (client->setup == NULL || !http_setup_serves(client->setup, call)) {
		http_setup_release(client->setup);
		client->setup = http_setup_new(client->agent, call);
	}
	return client->setup;
}

struct http_transfer *http_send(struct http_client *client,
	const struct http_call *call)
{
	struct http_transfer *t =
		http_transfer_new(setup_of(client, call), call);

	t->client = client;
	t->on_ready = mark_ready;
	t->deadline_ms = uv_now(client->loop) + call->timeout_ms;
	if (call->on_chunk != NULL) {
		t->call.priority = HTTP_AT_ONCE;
	}
	if (TAILQ_EMPTY(&client->all)) {
		timer_start(client->watchdog, WATCHDOG_MS, WATCHDOG_MS);
	}
	TAILQ_INSERT_TAIL(&client->all, t, all);
	if (t->call.priority == HTTP_AT_ONCE) {
		begin(t);
	} else {
		http_queue_wait(&client->queue, t, uv_now(client->loop));
		begin_waiting(client);
	}
	return t;
}

void http_cancel(struct http_transfer *transfer)
{
	struct http_client *client = transfer->client;

	end_transfer(transfer);
	begin_waiting(client);
}

const char *http_system_ca(void)
{
	return curl_version_info(CURLVERSION_NOW)->cainfo;
}

struct http_client *http_client_new(uv_loop_t *loop, const char *agent)
{
	struct http_client *client = xcalloc(1, sizeof(*client));
	CURLM *multi;

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	multi = curl_multi_init();
	assert(multi != NULL);
	client->loop = loop;
	client->agent = xstrdup(agent);
	client->multi = multi;
	client->timer = timer_new(loop, on_timer, client);
	client->watchdog = timer_new(loop, on_watchdog, client);
	TAILQ_INIT(&client->all);
	TAILQ_INIT(&client->ready);
	http_queue_init(&client->queue);
	http_sockets_init(&client->sockets, loop, multi, act, client);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client);
	(void)curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS,
		(long)IDLE_CONNECTIONS);
	return client;
}

void http_client_close(struct http_client *client)
{
	struct http_transfer *t;
	struct http_transfer *next;

	if (client == NULL) {
		return;
	}
	for (t = TAILQ_FIRST(&client->all); t != NULL; t = next) {
		next = TAILQ_NEXT(t, all);
		end_transfer(t);
	}
	client->is_closed = true;
	if (!client->is_delivering) {
		client_free(client);
	}
}

const char *http_library_version(void)
{
	return curl_version_info(CURLVERSION_NOW)->version;
}
