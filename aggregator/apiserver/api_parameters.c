#include "aggregator/apiserver/api_parameters.h"

#include "aggregator/apiserver/field_cells.h"
#include "aggregator/apiserver/load_match.h"
#include "aggregator/apiserver/load_wait.h"
#include "aggregator/apiserver/record_list.h"
#include "lib/decimal.h"

#include <errno.h>
#include <string.h>

static const unsigned int list_forms =
	1u << ACCEPT_JSON | 1u << ACCEPT_TABLE | 1u << ACCEPT_METADATA_LIST;
static const unsigned int object_forms =
	1u << ACCEPT_JSON | 1u << ACCEPT_TABLE | 1u << ACCEPT_METADATA;

void api_parameters_fini(struct api_parameters *p)
{
	selector_fini(&p->labels);
	selector_fini(&p->fields);
	field_cells_free(p->cells);
}

static bool is_load(enum api_kind kind)
{
	return kind == API_NODE_LOADS || kind == API_VM_LOADS;
}

static bool parse_natural(uint64_t *out, const char *text)
{
	return decimal_parse(out, &text, UINT64_MAX) && *text == '\0';
}

static int parse_limit(size_t *out, const char *text, struct error *err)
{
	uint64_t value = 0;

	if (text != NULL && *text != '\0' &&
		(!parse_natural(&value, text) || value >= 1000000000)) {
		return error_set(err, -EINVAL,
			"limit: '%.40s' is not a number of objects", text);
	}
	*out = (size_t)value;
	return 0;
}

static int parse_poll(struct api_poll *out, const struct httpd_request *request,
	struct error *err)
{
	const char *after = httpd_query(request, "after");
	const char *timeout = httpd_query(request, "timeoutSeconds");
	uint64_t seconds = LOAD_WAIT_S_MAX;

	if (after == NULL) {
		return 0;
	}
	if (!parse_natural(&out->after, after)) {
		return error_set(err, -EINVAL,
			"after: '%.40s' is not a resourceVersion", after);
	}
	if (timeout != NULL &&
		(!parse_natural(&seconds, timeout) || seconds < 1 ||
			seconds > LOAD_WAIT_S_MAX)) {
		return error_set(err, -EINVAL,
			"timeoutSeconds: '%.40s' is not a number from 1 to %d",
			timeout, LOAD_WAIT_S_MAX);
	}
	out->seconds = (unsigned)seconds;
	out->is_wanted = true;
	return 0;
}

/* Lists of loads, and the status. */
static bool can_wait(const struct rest_path *path)
{
	return path->kind == API_STATUS ||
		(is_load(path->kind) && path->name[0] == '\0');
}

static const char *fields_of(enum api_kind kind)
{
	static const char *const fields[API_KINDS] = {
		[API_NODE_LOADS] = load_node_fields,
		[API_VM_LOADS] = load_vm_fields,
		[API_DECISIONS] = record_decision_fields,
		[API_MOVES] = record_move_fields,
		[API_STATUS] = "metadata.name",
		[API_PLACEMENTS] = "",
		[API_PLANS] = "",
	};

	return fields[kind];
}

static int parse_selectors(struct api_parameters *p,
	const struct rest_path *path, const struct httpd_request *request,
	struct error *err)
{
	int r = selector_parse_labels(&p->labels,
		httpd_query(request, "labelSelector"), err);

	if (r == 0) {
		r = selector_parse_fields(&p->fields,
			httpd_query(request, "fieldSelector"), err);
	}
	return r == 0
		? selector_check_keys(&p->fields, fields_of(path->kind), err)
		: r;
}

static int parse_cells(struct api_parameters *p, const struct rest_path *path,
	const char *fields, struct error *err)
{
	if (fields == NULL || !is_load(path->kind)) {
		return 0;
	}
	if (p->form != ACCEPT_TABLE) {
		return error_set(err, -EINVAL,
			"fields: only a Table of meta.k8s.io/v1 has cells");
	}
	return field_cells_parse(&p->cells, fields, path->kind, err);
}

int api_parameters_parse(struct api_parameters *p, uint64_t epoch,
	const struct rest_path *path, const struct httpd_request *request,
	struct error *err)
{
	bool is_list = path->name[0] == '\0';
	int r = 0;

	p->form = accept_choose(httpd_header(request, "Accept"),
		is_list ? list_forms : object_forms);
	if (p->form == ACCEPT_NONE) {
		return error_set(err, -ENOMSG,
			"only application/json is served, also as a Table of "
			"meta.k8s.io/v1");
	}
	if (!api_parse_include(&p->include,
		    httpd_query(request, "includeObject"))) {
		return error_set(err, -EINVAL,
			"includeObject: not None, Metadata or Object");
	}
	if (can_wait(path)) {
		r = parse_poll(&p->poll, request, err);
	}
	if (r < 0 || !is_list) {
		return r;
	}
	r = parse_selectors(p, path, request, err);
	if (r == 0) {
		r = parse_cells(p, path, httpd_query(request, "fields"), err);
	}
	if (r == 0) {
		r = parse_limit(&p->limit, httpd_query(request, "limit"), err);
	}
	return r == 0
		? page_token_read(p->after, httpd_query(request, "continue"),
			  epoch, api_plural(path->kind), err)
		: r;
}
