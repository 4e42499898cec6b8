#include "kubectl/complete.h"

#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/flags.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { OUT_MAX = 8 << 20, WORDS_MAX = 512, ALL_FLAGS = (1 << FLAG_COUNT) - 1 };

/* A command line up to the word that is completed. */
struct line {
	const struct command *command; /* NULL: not named yet */
	const char *last;
	const char *before; /* the word before it, or "" */
	size_t names;	    /* arguments of the command before it */
	struct flags flags;
};

static void put_words(struct buffer *out, const char *words, const char *prefix)
{
	while (*words != '\0') {
		size_t len = strcspn(words, " ");

		if (strncmp(words, prefix, strlen(prefix)) == 0) {
			buffer_printf(out, "%.*s\n", (int)len, words);
		}
		words += len + strspn(words + len, " ");
	}
}

/* The names in kubectl's output, "node/a", below prefix. */
static void put_names(struct buffer *out, const char *text, const char *prefix)
{
	scoped_free char *copy = xstrdup(text);
	char *at = copy;

	while (at != NULL) {
		const char *line = strsep(&at, "\n");
		const char *slash = strchr(line, '/');
		const char *name = slash == NULL ? line : slash + 1;

		if (*name != '\0' &&
			strncmp(name, prefix, strlen(prefix)) == 0) {
			buffer_printf(out, "%s\n", name);
		}
	}
}

static void ask(struct buffer *out, const struct line *line,
	const char *const *arguments)
{
	scoped_buffer struct buffer text = { 0 };
	struct api_client client;

	api_client_init(&client, &line->flags);
	if (api_client_run(&text, &client, arguments, NULL, NULL) == 0 &&
		text.len > 0) {
		put_names(out, text.data, line->last);
	}
	api_client_fini(&client);
}

static void put_nodes(struct buffer *out, const struct line *line)
{
	static const char *const arguments[] = { "get", "nodes", "-o", "name",
		NULL };

	ask(out, line, arguments);
}

static void put_vms(struct buffer *out, const struct line *line)
{
	static const char *const arguments[] = { "get",
		"virtualmachineinstances.kubevirt.io", "-o", "name", NULL };

	ask(out, line, arguments);
}

static void put_namespaces(struct buffer *out, const struct line *line)
{
	static const char *const arguments[] = { "get", "namespaces", "-o",
		"name", NULL };

	ask(out, line, arguments);
}

static void put_contexts(struct buffer *out, const struct line *line)
{
	static const char *const arguments[] = { "config", "get-contexts", "-o",
		"name", NULL };

	ask(out, line, arguments);
}

/* Flags whose values are known. */
static const struct {
	const char *flag;
	void (*put)(struct buffer *out, const struct line *line);
	const char *words;
} values[] = {
	{ "--node", put_nodes, NULL },
	{ "--to", put_nodes, NULL },
	{ "--without", put_nodes, NULL },
	{ "--namespace", put_namespaces, NULL },
	{ "-n", put_namespaces, NULL },
	{ "--context", put_contexts, NULL },
	{ "--output", NULL, "json name wide yaml" },
	{ "-o", NULL, "json name wide yaml" },
	{ "--sort-by", NULL, "contention cpu heat io memory name" },
};

/* False: the word before is no flag whose value is known. */
static bool put_value(struct buffer *out, const struct line *line)
{
	size_t i = 0;

	while (i < count_of(values) &&
		strcmp(line->before, values[i].flag) != 0) {
		i++;
	}
	if (i == count_of(values)) {
		return false;
	}
	if (values[i].put != NULL) {
		values[i].put(out, line);
	} else {
		put_words(out, values[i].words, line->last);
	}
	return true;
}

static void put_commands(struct buffer *out,
	const struct command *const *commands, const char *prefix)
{
	for (; *commands != NULL; commands++) {
		if (strncmp((*commands)->name, prefix, strlen(prefix)) == 0) {
			buffer_printf(out, "%s\t%s\n", (*commands)->name,
				(*commands)->summary);
		}
	}
}

static void put_arguments(struct buffer *out, const struct line *line)
{
	const char *kind = line->command->completes;

	if (kind == NULL) {
		return;
	}
	if (strcmp(kind, "node") == 0) {
		put_nodes(out, line);
	} else if (strcmp(kind, "vm") == 0) {
		put_vms(out, line);
	} else if (line->names == 0) {
		put_words(out, kind, line->last);
	}
}

static const struct command *find(const struct command *const *commands,
	const char *name)
{
	for (; *commands != NULL; commands++) {
		if (strcmp((*commands)->name, name) == 0) {
			return *commands;
		}
	}
	return NULL;
}

/* Reads the words before the last. A mistake there leaves out what follows. */
static void read_line(struct line *line, const struct command *const *commands,
	const char *const *words)
{
	const char *before[WORDS_MAX + 1] = { 0 };
	size_t count = 0;

	line->last = line->before = "";
	for (; words[0] != NULL; words++) {
		if (words[1] != NULL && count < WORDS_MAX) {
			before[count++] = words[0];
			line->before = words[0];
		}
		line->last = words[0];
	}
	if (flags_parse(&line->flags, ALL_FLAGS, before, NULL) < 0) {
		/* Such as a flag whose value is completed now. */
	}
	if (line->flags.name_count > 0) {
		line->command = find(commands, line->flags.names[0]);
		line->names = line->flags.name_count - 1;
	}
}

int complete_run(const struct command *const *commands,
	const char *const *words)
{
	scoped_buffer struct buffer out = BUFFER_MAX(OUT_MAX);
	struct line line = { 0 };
	bool is_file;

	read_line(&line, commands, words);
	is_file = strcmp(line.before, "-f") == 0 ||
		strcmp(line.before, "--filename") == 0 ||
		strcmp(line.before, "--kubeconfig") == 0;
	if (is_file || put_value(&out, &line)) {
		/* done */
	} else if (line.last[0] == '-') {
		flags_complete(&out,
			line.command == NULL ? 0 : line.command->flags,
			line.last + strspn(line.last, "-"));
	} else if (line.command != NULL) {
		put_arguments(&out, &line);
	} else if (line.flags.name_count == 0) {
		put_commands(&out, commands, line.last);
	}
	buffer_text(&out, is_file ? ":0\n" : ":4\n");
	terminal_print(&out);
	flags_fini(&line.flags);
	return 0;
}
