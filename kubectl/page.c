/* kubectl plimsoll page: the page for people, through kubectl proxy. */
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/flags.h"
#include "kubectl/proxy.h"
#include "kubectl/terminal.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <unistd.h>

enum { STATUS_INTERRUPTED = 130 };

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
	r = proxy_run(&status, &call, on_serving, client, err);
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
