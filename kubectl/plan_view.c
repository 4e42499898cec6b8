#include "kubectl/plan_view.h"

#include "kube/json_value.h"
#include "kubectl/api_client.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/flags.h"
#include "kubectl/table.h"
#include "lib/buffer.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <string.h>

enum { BODY_MAX = 64 << 10 };

int plan_read_nodes(char **copy, const char *names[PLAN_NODES_MAX],
	size_t *count, const char *text, struct error *err)
{
	scoped_free char *own = xstrdup(text);
	char *at = own;
	size_t found = 0;

	while (at != NULL) {
		const char *name = strsep(&at, ",");

		if (!flags_is_name(name)) {
			return error_set(err, -EINVAL,
				"'%.100s' is not the name of a node", name);
		}
		if (found == PLAN_NODES_MAX) {
			return error_set(err, -EINVAL, "more than %d nodes",
				PLAN_NODES_MAX);
		}
		names[found++] = name;
	}
	*count = found;
	*copy = take_ptr(own);
	return 0;
}

static struct json begin_body(struct buffer *body, struct api_client *client,
	const char *goal)
{
	struct json j = json_into(body);

	json_object(&j, NULL);
	json_string(&j, "apiVersion", "load.plimsoll.io/v1alpha1");
	json_string(&j, "kind", "Plan");
	json_object(&j, "metadata");
	json_string(&j, "namespace", api_client_namespace(client));
	json_object_end(&j);
	json_object(&j, "spec");
	json_string(&j, "goal", goal);
	return j;
}

static int post(struct json_value **out, struct api_client *client,
	const struct buffer *body, struct error *err)
{
	scoped_free char *path = xasprintf("%s/namespaces/%s/plans", LOAD_API,
		api_client_namespace(client));

	return api_client_post(out, client, path, body->data, err);
}

int plan_ask_nodes(struct json_value **out, struct api_client *client,
	const char *goal, const char *nodes, struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	const char *names[PLAN_NODES_MAX];
	scoped_free char *copy = NULL;
	struct json j;
	size_t count = 0;

	if (plan_read_nodes(&copy, names, &count, nodes, err) < 0) {
		return -EINVAL;
	}
	j = begin_body(&body, client, goal);
	json_array(&j, "nodeNames");
	for (size_t i = 0; i < count; i++) {
		json_string(&j, NULL, names[i]);
	}
	json_array_end(&j);
	json_object_end(&j);
	json_object_end(&j);
	return post(out, client, &body, err);
}

int plan_ask_move(struct json_value **out, struct api_client *client,
	const char *vm, struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	struct json j = begin_body(&body, client, "Move");

	json_string(&j, "vmName", vm);
	json_object_end(&j);
	json_object_end(&j);
	return post(out, client, &body, err);
}

/* A column of a list: texts by default. */
struct column {
	const char *header, *path;
	char *(*figure)(char *, double);
};

/* Appends the objects of a list as a table below a title. */
static void put_list(struct buffer *out, const struct json_value *list,
	const char *title, const struct column *columns)
{
	const char *headers[TABLE_COLUMNS_MAX + 1] = { 0 };
	const struct json_value *at = json_value_first(list);
	struct table table;
	size_t count = 0;

	if (at == NULL) {
		return;
	}
	for (; columns[count].header != NULL; count++) {
		headers[count] = columns[count].header;
	}
	table_init(&table, headers);
	for (; at != NULL; at = json_value_next(at)) {
		for (size_t i = 0; i < count; i++) {
			const struct column *c = &columns[i];
			char figure[FIGURE_MAX];

			table_cell(&table,
				c->figure == NULL
					? json_value_text_at(at, c->path, "-")
					: c->figure(figure,
						  field_number(at, c->path)));
		}
	}
	buffer_printf(out, "\n%s\n", title);
	table_write(out, &table, true);
	table_fini(&table);
}

void plan_put_steps(struct buffer *out, const struct json_value *plan,
	const char *title)
{
	static const struct column columns[] = {
		{ "WAVE", "wave", figure_whole },
		{ "NAMESPACE", "namespace", NULL },
		{ "VM", "vmName", NULL },
		{ "FROM", "sourceNode", NULL },
		{ "TO", "targetNode", NULL },
		{ NULL, NULL, NULL },
	};

	put_list(out, json_value_at(plan, "status/steps"), title, columns);
}

/* Lists of VMs that are stuck or lost have these. */
static const struct column reason_columns[] = {
	{ "NAMESPACE", "namespace", NULL },
	{ "VM", "vmName", NULL },
	{ "NODE", "nodeName", NULL },
	{ "REASON", "reason", NULL },
	{ NULL, NULL, NULL },
};

void plan_put_stuck(struct buffer *out, const struct json_value *plan)
{
	put_list(out, json_value_at(plan, "status/stuck"),
		"These VMs cannot move:", reason_columns);
}

void plan_put_lost(struct buffer *out, const struct json_value *plan)
{
	put_list(out, json_value_at(plan, "status/lost"),
		"These VMs would find no place:", reason_columns);
}

void plan_put_nodes(struct buffer *out, const struct json_value *plan)
{
	static const struct column columns[] = {
		{ "NODE", "name", NULL },
		{ "CPU(expected)", "cpuBefore", figure_share },
		{ "CPU(then)", "cpuAfter", figure_share },
		{ "MEMORY(now)", "memoryBefore", figure_share },
		{ "MEMORY(then)", "memoryAfter", figure_share },
		{ NULL, NULL, NULL },
	};

	put_list(out, json_value_at(plan, "status/nodes"),
		"What the nodes would look like:", columns);
}

void plan_put_sentence(struct buffer *out, const struct json_value *plan)
{
	scoped_free char *sentence = field_text(plan, "status/sentence", "");

	if (*sentence != '\0') {
		buffer_printf(out, "%s\n", sentence);
	}
	if (field_true(plan, "status/cutOff")) {
		buffer_text(out,
			"The search ended at its limit of work: there "
			"may be a better plan.\n");
	}
}

/* A count, or 0 if it is missing. */
static double count_of_hidden(const struct json_value *plan, const char *path)
{
	double count = field_number(plan, path);

	return count > 0 ? count : 0;
}

void plan_put_hidden(struct buffer *out, const struct json_value *plan)
{
	double vms = count_of_hidden(plan, "status/hidden/vms");
	double stay = count_of_hidden(plan, "status/hidden/stuck") +
		count_of_hidden(plan, "status/hidden/lost");
	char counts[3][FIGURE_MAX];

	if (vms == 0) {
		return;
	}
	buffer_printf(out,
		"\n%s more VM%s of namespaces that you may not list: %s would "
		"move, %s cannot.\n",
		figure_whole(counts[0], vms), vms == 1 ? "" : "s",
		figure_whole(counts[1],
			count_of_hidden(plan, "status/hidden/steps")),
		figure_whole(counts[2], stay));
}
