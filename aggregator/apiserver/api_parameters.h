/* The parameters of a request for objects, and the form of its answer. */
#pragma once

#include "aggregator/apiserver/accept.h"
#include "aggregator/apiserver/api_types.h"
#include "aggregator/apiserver/page_token.h"
#include "kube/selector.h"
#include "lib/http/httpd.h"

struct field_cells;

/* A request that may wait for a change. */
struct api_poll {
	bool is_wanted;
	uint64_t after;
	unsigned seconds;
};

struct api_parameters {
	struct selector labels, fields;
	size_t limit;
	char after[PAGE_KEY_MAX];
	enum accept_form form;
	enum api_include include;
	struct api_poll poll;
	struct field_cells *cells; /* owned, or NULL */
};

/* Parses into a zeroed struct, which is to be released also after an error.
 * epoch: of the live table.
 * -EINVAL: a wrong parameter; -ESTALE: the token is another process's; -ENOMSG:
 * no form of the answer that the client takes. */
must_check int api_parameters_parse(struct api_parameters *p, uint64_t epoch,
	const struct rest_path *path, const struct httpd_request *request,
	struct error *err);

/* Releases what nobody took. Zeroed is fine. */
void api_parameters_fini(struct api_parameters *p);
