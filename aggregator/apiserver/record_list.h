/* Decisions and Moves, from the store: lists, newest first, and single ones. */
#pragma once

#include "aggregator/apiserver/api_types.h"
#include "aggregator/apiserver/page_token.h"
#include "kube/selector.h"

struct httpd_request;
struct store;

enum {
	/* Objects of a list if the client sets no limit, and at most: the rest
	 * has a continue token. */
	RECORD_LIST_DEFAULT = 500,
	RECORD_LIST_MAX = 1000,
};

struct record_query {
	enum api_kind kind;	/* API_DECISIONS or API_MOVES */
	const char *namespace;	/* "": all */
	const char *name;	/* "": all; else the only one */
	struct selector fields; /* the record list takes it */
	char after[PAGE_KEY_MAX];
	uint64_t epoch; /* of the continue token */
	size_t limit;	/* 0: the default */
	enum accept_form form;
	enum api_include include;
};

/* Words for selector_check_keys(). */
extern const char record_decision_fields[], record_move_fields[];

/* Answers the request, now or later. */
void record_list_serve(struct store *store, struct record_query *query,
	struct httpd_request *request);
