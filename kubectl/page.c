/* kubectl plimsoll page: the page for people, through kubectl proxy. */
#include "kubectl/api_client.h"
#include "kubectl/call.h"
#include "kubectl/command.h"
#include "kubectl/flags.h"
#include "kubectl/terminal.h"
#include "lib/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum { STATUS_INTERRUPTED = 130, CHUNK = 4096, OUTPUT_MAX = 64 << 10 };

/* The proxy serves on this address, "127.0.0.1:PORT". Returns the URL to open
 * in a browser, on the heap, or NULL. */
typedef char *(*proxy_serving)(void *owner, const char *address);

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

/* Runs kubectl proxy until it ends, or until Ctrl-C (SIGINT), SIGTERM or SIGHUP
 * ends the plugin and it. Without xdg-open no browser opens; a browser outlives
 * the plugin. *status is the proxy's exit status, or 128 and the signal. It
 * shows its own words on standard error. -EINTR: a signal ended it; else as
 * call_run(). */
static int run_proxy(int *status, const struct call *call,
	proxy_serving serving, void *owner, struct error *err)
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

/* ---- the command ---- */

/* The proxy adds the user's rights to each request, whichever page of a browser
 * sends it. So it forwards only read requests for plimsoll's API. */
static const char *const proxy_arguments[] = { "proxy", "--port=0",
	"--accept-paths=^/apis/load\\.plimsoll\\.io/",
	"--reject-methods=POST,PUT,PATCH,DELETE", NULL };

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && *value != '\0';
}

/* Without a display, xdg-open might take the terminal. */
static bool can_open(const struct flags *flags)
{
	return !flags_has(flags, FLAG_NO_BROWSER) && isatty(STDOUT_FILENO) &&
		(is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
}

/* A proxy_serving. */
static char *on_serving(void *owner, const char *address)
{
	const struct api_client *client = owner;
	char *url = xasprintf("http://%s" LOAD_API "/ui", address);

	terminal_say("%s", url);
	terminal_note(
		"The page has your rights while this command runs; "
		"Ctrl-C ends it.");
	if (!can_open(client->flags)) {
		free(take_ptr(url));
	}
	return url;
}

static int page_run(struct api_client *client, struct error *err)
{
	static const char *const test[] = { "get", "--raw", LOAD_API "/ui",
		NULL };
	const char *all[API_CLIENT_ARGUMENTS_MAX + FLAGS_GLOBAL_MAX + 1];
	const struct call call = { .arguments = all };
	int status = 0;
	int r;

	if (client->flags->name_count > 0) {
		return error_set(err, COMMAND_USAGE, "page takes no arguments");
	}
	r = api_client_run(NULL, client, test, NULL, err);
	if (r < 0) {
		api_client_explain(client, LOAD_API);
		return r;
	}
	api_client_arguments(all, client, proxy_arguments);
	r = run_proxy(&status, &call, on_serving, client, err);
	if (r == -EINTR) {
		return STATUS_INTERRUPTED;
	}
	return r < 0 ? r : status;
}

const struct command page_command = {
	.name = "page",
	.usage = "page",
	.summary = "Show nodes, VMs, decisions and moves in a browser",
	.text = " Runs \"kubectl proxy\" on a free port of this machine, "
		"prints "
		"the address of plimsoll's\n page there, and opens it in a "
		"browser, if there is one, until Ctrl-C. Anybody who opens\n "
		"the address on this machine meanwhile sees what you may see, "
		"and can change nothing:\n the proxy forwards only read "
		"requests for load.plimsoll.io.",
	.examples =
		"  # Open the page\n"
		"  kubectl plimsoll page\n\n"
		"  # Only print its address\n"
		"  kubectl plimsoll page --no-browser",
	.flags = FLAG_BIT(FLAG_NO_BROWSER),
	.run = page_run,
};
