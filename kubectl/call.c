#include "kubectl/call.h"

#include "kubectl/terminal.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
	QUIET_MS = 1000,
	/* Pipes that stay open after kubectl ended, for a process that it left
	 * behind. All that kubectl wrote is read between two ticks. */
	REST_TICK_MS = 500,
	REST_TICKS = 2,
	CHUNK = 64 << 10,
};

/* A call under way. Its pipes read into result. */
struct run {
	struct call_result *result;
	char *input; /* a copy, because libuv's buffers are not const */
	uv_loop_t loop;
	uv_process_t process;
	uv_pipe_t in, out, complaint;
	uv_timer_t quiet, rest;
	uv_write_t write;
	unsigned rest_ticks;
	size_t complained_bytes;
	const char *too_much; /* NULL, or where kubectl wrote too much */
	char chunk[CHUNK];
};

static struct run *run_of(uv_handle_t *handle)
{
	return handle->loop->data;
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle)) {
		uv_close(handle, NULL);
	}
}

static bool is_read_to_its_end(const struct run *run)
{
	return uv_is_closing((const uv_handle_t *)&run->out) &&
		uv_is_closing((const uv_handle_t *)&run->complaint);
}

static void end_pipe(uv_stream_t *stream)
{
	struct run *run = run_of((uv_handle_t *)stream);

	close_handle((uv_handle_t *)stream);
	if (is_read_to_its_end(run)) {
		close_handle((uv_handle_t *)&run->rest);
	}
}

static void on_rest_tick(uv_timer_t *timer)
{
	struct run *run = run_of((uv_handle_t *)timer);

	if (++run->rest_ticks == REST_TICKS) {
		end_pipe((uv_stream_t *)&run->out);
		end_pipe((uv_stream_t *)&run->complaint);
	}
}

static void on_end(uv_process_t *process, int64_t status, int signal)
{
	struct run *run = process->loop->data;

	run->result->status = signal != 0 ? 128 + signal : (int)status;
	close_handle((uv_handle_t *)process);
	close_handle((uv_handle_t *)&run->quiet);
	close_handle((uv_handle_t *)&run->in);
	if (!is_read_to_its_end(run)) {
		(void)uv_timer_start(&run->rest, on_rest_tick, REST_TICK_MS,
			REST_TICK_MS);
	}
}

/* Not SIGTERM, which kubectl may ignore. */
static void stop(struct run *run, const char *where)
{
	if (run->too_much == NULL) {
		run->too_much = where;
		(void)uv_process_kill(&run->process, SIGKILL);
	}
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct run *run = run_of(handle);

	(void)size;
	*buf = uv_buf_init(run->chunk, sizeof(run->chunk));
}

static void on_out(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
	struct run *run = run_of((uv_handle_t *)stream);

	if (len < 0) {
		end_pipe(stream);
		return;
	}
	buffer_append(&run->result->out, buf->base, (size_t)len);
	if (run->result->out.overflowed) {
		stop(run, "64 MiB");
	}
}

/* kubectl said something and goes on: maybe it waits for an answer. */
static void on_quiet_end(uv_timer_t *timer)
{
	struct buffer *complaint =
		&run_of((uv_handle_t *)timer)->result->complaint;

	terminal_lines_to_error(complaint->data, complaint->len);
	buffer_clear(complaint);
}

static void on_complaint(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
	struct run *run = run_of((uv_handle_t *)stream);

	if (len < 0) {
		end_pipe(stream);
		return;
	}
	buffer_append(&run->result->complaint, buf->base, (size_t)len);
	run->complained_bytes += (size_t)len;
	if (run->complained_bytes > CALL_COMPLAINTS_MAX) {
		stop(run, "16 MiB to standard error");
	}
	if (!uv_is_active((uv_handle_t *)&run->quiet) &&
		!uv_is_closing((uv_handle_t *)&run->quiet)) {
		(void)uv_timer_start(&run->quiet, on_quiet_end, QUIET_MS, 0);
	}
}

static void on_written(uv_write_t *write, int status)
{
	(void)status; /* kubectl says itself what it lacks */
	close_handle((uv_handle_t *)write->handle);
}

static uv_stdio_container_t piped(uv_pipe_t *pipe, int flags)
{
	return (uv_stdio_container_t){
		.flags = (uv_stdio_flags)(UV_CREATE_PIPE | flags),
		.data.stream = (uv_stream_t *)pipe,
	};
}

static uv_stdio_container_t inherited(int fd)
{
	return (uv_stdio_container_t){ .flags = UV_INHERIT_FD, .data.fd = fd };
}

static int spawn(struct run *run, const struct call *call, char **argv)
{
	uv_stdio_container_t stdio[3] = {
		call->input == NULL ? inherited(0)
				    : piped(&run->in, UV_READABLE_PIPE),
		call->is_shown ? inherited(1)
			       : piped(&run->out, UV_WRITABLE_PIPE),
		call->is_shown ? inherited(2)
			       : piped(&run->complaint, UV_WRITABLE_PIPE),
	};
	uv_process_options_t options = {
		.exit_cb = on_end,
		.file = argv[0],
		.args = argv,
		.stdio = stdio,
		.stdio_count = 3,
	};

	return uv_spawn(&run->loop, &run->process, &options);
}

static void begin_io(struct run *run, const struct call *call)
{
	if (call->input != NULL) {
		uv_buf_t buf =
			uv_buf_init(run->input, (unsigned)strlen(run->input));

		(void)uv_write(&run->write, (uv_stream_t *)&run->in, &buf, 1,
			on_written);
	}
	if (!call->is_shown) {
		(void)uv_read_start((uv_stream_t *)&run->out, on_alloc, on_out);
		(void)uv_read_start((uv_stream_t *)&run->complaint, on_alloc,
			on_complaint);
	}
}

char **call_argv(const struct call *call)
{
	const char *kubectl = getenv("KUBECTL");
	char **argv = xcalloc(CALL_ARGUMENTS_MAX + 2, sizeof(*argv));
	size_t count = 1;

	argv[0] = xstrdup(call->program != NULL		      ? call->program
			: kubectl != NULL && *kubectl != '\0' ? kubectl
							      : "kubectl");
	for (const char *const *at = call->arguments;
		*at != NULL && count <= CALL_ARGUMENTS_MAX; at++) {
		argv[count++] = xstrdup(*at);
	}
	return argv;
}

void call_argv_free(char **argv)
{
	for (size_t i = 0; argv[i] != NULL; i++) {
		free(argv[i]);
	}
	free(argv);
}

int call_run(struct call_result *result, const struct call *call,
	struct error *err)
{
	scoped_free struct run *run = xcalloc(1, sizeof(*run));
	scoped_free char *input =
		call->input == NULL ? NULL : xstrdup(call->input);
	char **argv = call_argv(call);
	int r;

	result->out = BUFFER_MAX(CALL_OUTPUT_MAX);
	result->complaint = BUFFER_MAX(CALL_COMPLAINT_MAX);
	run->result = result;
	run->input = input;
	(void)uv_loop_init(&run->loop);
	run->loop.data = run;
	(void)uv_pipe_init(&run->loop, &run->in, 0);
	(void)uv_pipe_init(&run->loop, &run->out, 0);
	(void)uv_pipe_init(&run->loop, &run->complaint, 0);
	(void)uv_timer_init(&run->loop, &run->quiet);
	(void)uv_timer_init(&run->loop, &run->rest);
	r = spawn(run, call, argv);
	if (r == 0) {
		begin_io(run, call);
	}
	if (r < 0 || call->is_shown) {
		end_pipe((uv_stream_t *)&run->out);
		end_pipe((uv_stream_t *)&run->complaint);
	}
	if (r < 0) {
		close_handle((uv_handle_t *)&run->process);
		close_handle((uv_handle_t *)&run->in);
		close_handle((uv_handle_t *)&run->quiet);
		(void)error_set(err, r, "cannot run %.200s: %s", argv[0],
			uv_strerror(r));
	}
	(void)uv_run(&run->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&run->loop);
	call_argv_free(argv);
	if (run->too_much != NULL) {
		return error_set(err, -EFBIG, "kubectl wrote more than %s",
			run->too_much);
	}
	return r;
}

void call_result_fini(struct call_result *result)
{
	buffer_fini(&result->out);
	buffer_fini(&result->complaint);
}
