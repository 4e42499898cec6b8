#include "kubectl/proxy.h"

#include "lib/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { CHUNK = 4096, OUTPUT_MAX = 64 << 10 };

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

struct proxy {
	uv_loop_t loop;
	uv_process_t process, browser;
	uv_pipe_t out;
	uv_signal_t on_signal[count_of(signals)];
	proxy_serving serving;
	void *owner;
	struct buffer text; /* its output until it serves */
	bool is_serving, is_interrupted;
	int status;
	char chunk[CHUNK];
};

static void close_handle(uv_handle_t *handle, void *owner)
{
	(void)owner;
	if (!uv_is_closing(handle)) {
		uv_close(handle, NULL);
	}
}

static void on_end(uv_process_t *process, int64_t status, int signal)
{
	struct proxy *proxy = process->loop->data;

	proxy->status = signal != 0 ? 128 + signal : (int)status;
	uv_walk(&proxy->loop, close_handle, NULL);
}

static void on_signal(uv_signal_t *handle, int signal)
{
	struct proxy *proxy = handle->loop->data;

	(void)signal;
	proxy->is_interrupted = true;
	(void)uv_process_kill(&proxy->process, SIGTERM);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct proxy *proxy = handle->loop->data;

	(void)size;
	*buf = uv_buf_init(proxy->chunk, sizeof(proxy->chunk));
}

/* The address behind kubectl's words, once its line is complete. The caller
 * frees it. */
static char *find_address(const struct buffer *text)
{
	static const char words[] = "Starting to serve on ";
	static const char host[] = "127.0.0.1:";
	const char *at = text->len == 0 ? NULL : strstr(text->data, words);
	size_t len;

	if (at == NULL) {
		return NULL;
	}
	at += sizeof(words) - 1;
	len = sizeof(host) - 1;
	if (strncmp(at, host, len) != 0) {
		return NULL;
	}
	len += strspn(at + len, "0123456789");
	return len > sizeof(host) - 1 && at[len] == '\n' ? xstrndup(at, len)
							 : NULL;
}

static void on_browser_end(uv_process_t *process, int64_t status, int signal)
{
	(void)status;
	(void)signal;
	close_handle((uv_handle_t *)process, NULL);
}

static void open_browser(struct proxy *proxy, char *url)
{
	char program[] = "xdg-open";
	char *argv[] = { program, url, NULL };
	uv_process_options_t options = { .exit_cb = on_browser_end,
		.file = program,
		.args = argv,
		.flags = UV_PROCESS_DETACHED };

	if (uv_spawn(&proxy->loop, &proxy->browser, &options) != 0) {
		close_handle((uv_handle_t *)&proxy->browser, NULL);
	}
}

static void on_out(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
	struct proxy *proxy = stream->loop->data;
	scoped_free char *address = NULL;
	scoped_free char *url = NULL;

	if (len < 0) {
		close_handle((uv_handle_t *)stream, NULL);
		return;
	}
	if (proxy->is_serving) {
		return;
	}
	buffer_append(&proxy->text, buf->base, (size_t)len);
	address = find_address(&proxy->text);
	if (address != NULL) {
		proxy->is_serving = true;
		url = proxy->serving(proxy->owner, address);
		if (url != NULL) {
			open_browser(proxy, url);
		}
	}
}

static int spawn(struct proxy *proxy, char **argv)
{
	uv_stdio_container_t stdio[3] = {
		{ .flags = UV_INHERIT_FD, .data.fd = 0 },
		{ .flags = (uv_stdio_flags)(UV_CREATE_PIPE | UV_WRITABLE_PIPE),
			.data.stream = (uv_stream_t *)&proxy->out },
		{ .flags = UV_INHERIT_FD, .data.fd = 2 },
	};
	uv_process_options_t options = {
		.exit_cb = on_end,
		.file = argv[0],
		.args = argv,
		.stdio = stdio,
		.stdio_count = 3,
	};

	return uv_spawn(&proxy->loop, &proxy->process, &options);
}

static void begin(struct proxy *proxy)
{
	(void)uv_loop_init(&proxy->loop);
	proxy->loop.data = proxy;
	(void)uv_pipe_init(&proxy->loop, &proxy->out, 0);
	for (size_t i = 0; i < count_of(signals); i++) {
		(void)uv_signal_init(&proxy->loop, &proxy->on_signal[i]);
		(void)uv_signal_start(&proxy->on_signal[i], on_signal,
			signals[i]);
	}
}

int proxy_run(int *status, const struct call *call, proxy_serving serving,
	void *owner, struct error *err)
{
	scoped_free struct proxy *proxy = xcalloc(1, sizeof(*proxy));
	char **argv = call_argv(call);
	int r;

	proxy->serving = serving;
	proxy->owner = owner;
	proxy->text = BUFFER_MAX(OUTPUT_MAX);
	begin(proxy);
	r = spawn(proxy, argv);
	if (r == 0) {
		(void)uv_read_start((uv_stream_t *)&proxy->out, on_alloc,
			on_out);
	} else {
		(void)error_set(err, r, "cannot run %.200s: %s", argv[0],
			uv_strerror(r));
		uv_walk(&proxy->loop, close_handle, NULL);
	}
	(void)uv_run(&proxy->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&proxy->loop);
	call_argv_free(argv);
	buffer_fini(&proxy->text);
	*status = proxy->status;
	if (r == 0 && proxy->is_interrupted) {
		return error_set(err, -EINTR, "interrupted");
	}
	return r;
}
