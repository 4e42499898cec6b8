/* Lists of NodeLoads and VmLoads, and single ones: their text part by part.
 *
 * In memory are the names of the objects and a part of the text. Selectors
 * choose, and figures are current, when the text is written. */
#pragma once

#include "aggregator/apiserver/load_select.h"
#include "lib/http/httpd.h"

struct load_list;

/* Takes the query's cells and selectors, and keeps nothing else of it. */
struct load_list *load_list_new(const struct load_view *view,
	const struct load_query *query);
void load_list_free(struct load_list *list); /* NULL is fine */

/* Writes the only object of a query by name, in its form. False: it is gone. */
bool load_list_write_one(struct json *j, struct load_list *list);

/* The text of the list, which then owns it. */
struct httpd_stream load_list_stream(struct load_list *list);
