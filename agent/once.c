#include "agent/once.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "agent/node.h"
#include "agent/report_json.h"
#include "lib/buffer.h"
#include "lib/loop.h"
#include "lib/memory.h"

/* A report of REPORT_VMS_MAX pods is about 2 MiB. */
enum { JSON_MAX = 8 << 20 };

struct once {
	const struct agent_config *config;
	struct loop *loop;
	struct node *node;
	bool printed;
};

static bool print_report(struct once *once)
{
	struct buffer text = BUFFER_MAX(JSON_MAX);
	struct report report;
	bool printed;

	node_report(&report, once->node, once->config->interval_us);
	report.seq = 1;
	report.dropped = 0;
	report_json_write(&text, once->config->node_name, &report);
	report_fini(&report);
	buffer_char(&text, '\n');
	printed = !text.overflowed &&
		fwrite(text.data, 1, text.len, stdout) == text.len &&
		fflush(stdout) == 0;
	buffer_fini(&text);
	return printed;
}

static void on_probed(void *owner, const struct kvm *now,
	const struct kvm *before)
{
	struct once *once = owner;

	(void)now;
	(void)before;
	once->printed = print_report(once);
	loop_begin_stop(once->loop);
}

static void on_stop(void *owner)
{
	struct once *once = owner;

	node_close(take_ptr(once->node));
}

int once_run(const struct agent_config *config, struct error *err)
{
	struct once once = { .config = config };
	int r;

	once.loop = loop_new(on_stop, &once);
	r = node_new(&once.node, loop_uv(once.loop), config, on_probed, &once,
		err);
	if (r < 0) {
		loop_begin_stop(once.loop);
	}
	loop_run(once.loop);
	loop_free(once.loop);
	return r == 0 && !once.printed
		? error_set(err, -EIO, "no report was printed")
		: r;
}
