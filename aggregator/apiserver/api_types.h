/* The kinds of objects: their names, fields and columns; and objects as JSON,
 * alone, in lists and as rows of a Table (meta.k8s.io/v1). */
#pragma once

#include "aggregator/apiserver/accept.h"
#include "aggregator/apiserver/api_model.h"
#include "aggregator/apiserver/rest_path.h"
#include "aggregator/live/object_labels.h"

struct api_column {
	const char *name;
	const char *type; /* "string", "integer", "number" */
	const char *help;
	int priority; /* 1: only with -o wide */
};

struct api_type {
	const char *kind, *singular;
	const char *short_name; /* NULL: none */
	const char *help;
	const struct api_model *model;
	const struct api_column *columns; /* without the name */
	size_t column_count;
	/* Writes these columns of an object into the open array. */
	void (*cells)(struct json *j, const void *object);
};

const struct api_type *api_type_of(enum api_kind kind);

/* An object of a kind; all borrowed. */
struct api_item {
	enum api_kind kind;
	const char *namespace; /* "": none */
	const char *name;
	const struct label_set *labels; /* or NULL */
	uint64_t revision;		/* 0: none */
	uint64_t created_us;		/* 0: none */
	const void *object;		/* the struct of the kind's model */
};

/* The member of a row of a Table beside its cells. */
enum api_include { API_INCLUDE_METADATA, API_INCLUDE_NONE, API_INCLUDE_OBJECT };

/* text: the parameter includeObject, or NULL. False: it is none of them. */
bool api_parse_include(enum api_include *out, const char *text);

/* Text that begins a list in this form, up to its first item. */
void api_begin_list(struct json *j, enum accept_form form, enum api_kind kind);

/* One item of the list. */
void api_write_item(struct json *j, enum accept_form form,
	enum api_include include, const struct api_item *item);

struct api_list_end {
	uint64_t revision;
	const char *next;   /* the continue token; NULL: the list is complete */
	uint64_t remaining; /* items after it; REPORT_UNKNOWN: not known */
};

void api_end_list(struct json *j, const struct api_list_end *end);

/* A single object, in this form. */
void api_write_one(struct json *j, enum accept_form form,
	enum api_include include, const struct api_item *item);
