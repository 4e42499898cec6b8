#include "kube/http.h"

#include "kube/http_transfer.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>

enum { IDLE_HANDLES = 8, WATCHDOG_MS = 1000 };

TAILQ_HEAD(transfers, http_transfer);

/* curl must not be called inside its own callbacks, so only deliver_all() calls
 * the owners, after curl has returned. Until then a transfer with a due
 * callback is in the ready list. */
struct http_client {
	uv_loop_t *loop;
	char *agent;
	CURLM *multi;
	struct timer *timer;	/* set by curl */
	struct timer *watchdog; /* see on_watchdog() */
	struct transfers all;
	struct transfers ready; /* FIFO */
	/* Handles keep connections and memory, so they are reused. */
	CURL *idle[IDLE_HANDLES];
	size_t idle_count;
	bool is_delivering;
	bool is_closed;
};

/* A socket that curl watches. */
struct socket_watch {
	uv_poll_t poll;
	struct http_client *client;
	curl_socket_t fd;
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

static CURL *acquire_handle(struct http_client *client)
{
	CURL *easy = client->idle_count > 0 ? client->idle[--client->idle_count]
					    : curl_easy_init();

	assert(easy != NULL);
	return easy;
}

static void release_handle(struct http_client *client, CURL *easy)
{
	if (client->idle_count < IDLE_HANDLES) {
		curl_easy_reset(easy);
		client->idle[client->idle_count++] = easy;
	} else {
		curl_easy_cleanup(easy);
	}
}

static void end_transfer(struct http_transfer *t)
{
	struct http_client *client = t->client;

	unmark_ready(t);
	TAILQ_REMOVE(&client->all, t, all);
	if (TAILQ_EMPTY(&client->all)) {
		timer_stop(client->watchdog);
	}
	(void)curl_multi_remove_handle(client->multi, t->easy);
	release_handle(client, t->easy);
	http_transfer_free(t);
}

/* ---- callbacks of the owners ---- */

/* Calls on_done. The transfer is freed first. */
static void deliver_end(struct http_transfer *t)
{
	scoped_free char *sentence = NULL;
	struct http_response response = http_transfer_response(t, &sentence);
	struct buffer body = t->received; /* the response points into it */
	http_done on_done = t->on_done;
	void *owner = t->owner;

	t->received = (struct buffer){ 0 };
	end_transfer(t);
	on_done(owner, &response);
	buffer_fini(&body);
}

/* Makes one callback; the others follow later. May free t. */
static void deliver(struct http_transfer *t)
{
	if (t->has_begun) {
		t->has_begun = false;
		mark_ready(t);
		t->on_chunk(t->owner, "", 0);
	} else if (http_transfer_streams(t) && t->received.len > 0) {
		scoped_buffer struct buffer bytes = t->received;

		t->received = BUFFER_MAX(bytes.max);
		t->received.overflowed = bytes.overflowed;
		mark_ready(t);
		t->on_chunk(t->owner, bytes.data, bytes.len);
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
		(void)curl_multi_remove_handle(client->multi, t->easy);
		mark_ready(t);
	}
}

static void client_free(struct http_client *client)
{
	while (client->idle_count > 0) {
		curl_easy_cleanup(client->idle[--client->idle_count]);
	}
	(void)curl_multi_cleanup(client->multi);
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

static void act(struct http_client *client, curl_socket_t fd, int events)
{
	int running;

	(void)curl_multi_socket_action(client->multi, fd, events, &running);
	deliver_all(client);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	const struct socket_watch *watch = poll->data;
	int flags = status < 0 ? CURL_CSELECT_ERR : 0;

	flags |= (events & UV_READABLE) != 0 ? CURL_CSELECT_IN : 0;
	flags |= (events & UV_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0;
	act(watch->client, watch->fd, flags);
}

static void on_timer(void *owner)
{
	act(owner, CURL_SOCKET_TIMEOUT, 0);
}

/* Some releases of curl lost a timer now and then. Checking once a second
 * during requests costs nothing and recovers from that. */
static void on_watchdog(void *owner)
{
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

static void on_watch_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static struct socket_watch *watch_new(struct http_client *client,
	curl_socket_t fd)
{
	struct socket_watch *watch = xcalloc(1, sizeof(*watch));
	int result = uv_poll_init_socket(client->loop, &watch->poll, fd);

	/* fd is a socket, and nothing else watches it. */
	assert(result == 0);
	(void)result;
	watch->poll.data = watch;
	watch->client = client;
	watch->fd = fd;
	return watch;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *owner,
	void *assigned)
{
	struct http_client *client = owner;
	struct socket_watch *watch = assigned;
	int events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watch != NULL) {
			(void)curl_multi_assign(client->multi, fd, NULL);
			uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
		}
		return 0;
	}
	if (watch == NULL) {
		watch = watch_new(client, fd);
		(void)curl_multi_assign(client->multi, fd, watch);
	}
	events |= (what & CURL_POLL_IN) != 0 ? UV_READABLE : 0;
	events |= (what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0;
	(void)uv_poll_start(&watch->poll, events, on_poll);
	return 0;
}

struct http_transfer *http_send(struct http_client *client,
	const struct http_call *call)
{
	struct http_transfer *t =
		http_transfer_new(acquire_handle(client), client->agent, call);

	t->client = client;
	t->on_ready = mark_ready;
	if (TAILQ_EMPTY(&client->all)) {
		timer_start(client->watchdog, WATCHDOG_MS, WATCHDOG_MS);
	}
	TAILQ_INSERT_TAIL(&client->all, t, all);
	(void)curl_multi_add_handle(client->multi, t->easy);
	return t;
}

void http_cancel(struct http_transfer *transfer)
{
	end_transfer(transfer);
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
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client);
	(void)curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS,
		(long)HTTP_CONNECTIONS);
	(void)curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS,
		(long)HTTP_CONNECTIONS);
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
