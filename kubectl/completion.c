#include "kubectl/completion.h"

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

static const char *const nodes[] = { "get", "nodes", "-o", "name", NULL };
static const char *const vms[] = { "get", "virtualmachineinstances.kubevirt.io",
	"-o", "name", NULL };
static const char *const namespaces[] = { "get", "namespaces", "-o", "name",
	NULL };
static const char *const contexts[] = { "config", "get-contexts", "-o", "name",
	NULL };

/* Flags whose values are known. */
static const struct {
	const char *flag;
	const char *const *arguments; /* kubectl's, which lists them; or NULL */
	const char *words;
} values[] = {
	{ "--node", nodes, NULL },
	{ "--to", nodes, NULL },
	{ "--without", nodes, NULL },
	{ "--namespace", namespaces, NULL },
	{ "-n", namespaces, NULL },
	{ "--context", contexts, NULL },
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
	if (values[i].arguments != NULL) {
		ask(out, line, values[i].arguments);
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
		ask(out, line, nodes);
	} else if (strcmp(kind, "vm") == 0) {
		ask(out, line, vms);
	} else if (line->names == 0) {
		put_words(out, kind, line->last);
	}
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
		line->command = command_find(commands, line->flags.names[0]);
		line->names = line->flags.name_count - 1;
	}
}

int completion_words(const struct command *const *commands,
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

/* ---- kubectl plimsoll completion bash|zsh|kubectl ---- */

static const struct {
	const char *shell, *script;
} scripts[] = {
	{ "bash",
		"# bash completion for kubectl-plimsoll\n"
		"_kubectl_plimsoll() {\n"
		"    local line\n"
		"    COMPREPLY=()\n"
		"    while IFS= read -r line; do\n"
		"        case $line in\n"
		"        :0) compopt -o default ;;\n"
		"        :*) ;;\n"
		"        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
		"        esac\n"
		"    done < <(kubectl-plimsoll __complete \\\n"
		"        \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
		"}\n"
		"complete -F _kubectl_plimsoll kubectl-plimsoll" },
	{ "zsh",
		"#compdef kubectl-plimsoll\n"
		"_kubectl_plimsoll() {\n"
		"    local -a lines\n"
		"    lines=(\"${(@f)$(kubectl-plimsoll __complete \\\n"
		"        \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
		"    if [[ ${lines[-1]} == :0 ]]; then\n"
		"        _files\n"
		"    else\n"
		"        compadd -- ${${lines:#:*}%%$'\\t'*}\n"
		"    fi\n"
		"}\n"
		"compdef _kubectl_plimsoll kubectl-plimsoll\n"
		"# Loaded from fpath by the first completion.\n"
		"if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then\n"
		"    _kubectl_plimsoll\n"
		"fi" },
	{ "kubectl",
		"#!/bin/sh\n"
		"# kubectl asks this file, kubectl_complete-plimsoll on PATH, "
		"for words.\n"
		"exec kubectl-plimsoll __complete \"$@\"" },
};

static int completion_run(struct api_client *client, struct error *err)
{
	const struct flags *flags = client->flags;

	for (size_t i = 0; i < count_of(scripts); i++) {
		if (flags->name_count == 1 &&
			strcmp(flags->names[0], scripts[i].shell) == 0) {
			terminal_say("%s", scripts[i].script);
			return 0;
		}
	}
	return error_set(err, COMMAND_USAGE,
		"You must name what completes: bash, zsh or kubectl");
}

const struct command completion_command = {
	.name = "completion",
	.usage = "completion (bash | zsh | kubectl)",
	.summary = "Print a script that completes the command line",
	.text = " The script for kubectl completes \"kubectl plimsoll\" in "
		"each shell in which kubectl\n completes itself (kubectl 1.26 "
		"or newer): save it on PATH as kubectl_complete-plimsoll.\n "
		"Those for bash and zsh complete the program "
		"kubectl-plimsoll.",
	.examples =
		"  # Complete \"kubectl plimsoll\"\n"
		"  kubectl plimsoll completion kubectl > "
		"~/.local/bin/kubectl_complete-plimsoll\n"
		"  chmod +x ~/.local/bin/kubectl_complete-plimsoll\n\n"
		"  # Complete \"kubectl-plimsoll\" in this bash\n"
		"  source <(kubectl plimsoll completion bash)\n\n"
		"  # Complete \"kubectl-plimsoll\" in each zsh\n"
		"  kubectl plimsoll completion zsh > "
		"\"${fpath[1]}/_kubectl-plimsoll\"",
	.run = completion_run,
	.completes = "bash kubectl zsh",
};
