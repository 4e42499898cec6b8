/* Where an answer comes from, as JSON and as the header Plimsoll-Sources. */
#pragma once

#include "aggregator/query/sources.h"
#include "lib/http/httpd.h"
#include "lib/json.h"

/* Writes "sources":[{"source":"remote","from","to","error"},{"source":"local",
 * "from","to"}] into the open object: the parts in the order of time, each only
 * if it has a time; error only if there is one, a sentence. Writes nothing if
 * the sources are not known. */
void sources_write(struct json *j, const struct sources *sources);

/* Adds the header: remote;from=T;to=T;error="sentence", local;from=T;to=T, with
 * Unix seconds. Nothing if the sources are not known. */
void sources_set_header(struct httpd_request *request,
	const struct sources *sources);
