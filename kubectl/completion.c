/* kubectl plimsoll completion bash|zsh|kubectl */
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/flags.h"
#include "kubectl/terminal.h"
#include "lib/memory.h"

#include <string.h>

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
