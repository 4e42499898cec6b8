/* The fields of the API's objects: one table says their names, their places in
 * a struct and their descriptions. It writes objects, and the OpenAPI documents
 * that describe them. Pure.
 *
 * Names are as in /v1 and become camelCase here: used_cores_5m is usedCores5m.
 * A figure that is not known is left out, and so is an empty text. */
#pragma once

#include "lib/json.h"
#include "proto/decision.h"

#include <stddef.h>

enum api_model_kind {
	API_MODEL_TEXT,	   /* const char *; NULL: left out */
	API_MODEL_CHARS,   /* char[] */
	API_MODEL_TIME,	   /* uint64_t, us since 1970; 0: left out */
	API_MODEL_NUMBER,  /* double */
	API_MODEL_SECONDS, /* uint64_t us; REPORT_UNKNOWN: left out */
	API_MODEL_COUNT,   /* uint64_t; REPORT_UNKNOWN: left out */
	API_MODEL_NATURAL, /* uint32_t */
	API_MODEL_BOOL,
	API_MODEL_OBJECT,  /* a struct in this one, or this one (offset 0) */
	API_MODEL_LIST,	   /* struct api_model_list of structs */
	API_MODEL_TEXTS,   /* struct api_model_texts */
	API_MODEL_NUMBERS, /* struct api_model_numbers: an object of numbers */
	/* For the documents only, something else writes them: */
	API_MODEL_RAW, /* an array */
	API_MODEL_ANY, /* an object of any fields */
};

struct api_model_list {
	const void *items;
	size_t count;
};

/* Texts one after the other, each with its NUL. */
struct api_model_texts {
	const char *packed;
	size_t count;
};

struct api_model_numbers {
	const struct decision_term *items;
	size_t count;
};

struct api_model;

struct api_model_field {
	const char *name;
	enum api_model_kind kind;
	size_t offset;
	const struct api_model *of; /* of API_MODEL_OBJECT and API_MODEL_LIST */
	const char *help;
};

struct api_model {
	const struct api_model_field *fields;
	size_t count;
	size_t size; /* of the struct; for lists */
};

/* The parts of a row before its description. A field has the name of its
 * member; API_NAMED() is for one that has not, API_NESTED() for one that holds
 * others, API_PART() for some members of the struct under a name. */
#define API_FIELD(type_of, type, member)                                       \
	API_NAMED(member, type_of, type, member)
#define API_NAMED(called, type_of, type, member)                               \
	.name = #called, .kind = API_MODEL_##type_of,                          \
	.offset = offsetof(struct type, member), .of = NULL
#define API_NESTED(called, type_of, type, member, model)                       \
	.name = #called, .kind = API_MODEL_##type_of,                          \
	.offset = offsetof(struct type, member), .of = (model)
#define API_PART(called, model)                                                \
	.name = #called, .kind = API_MODEL_OBJECT, .offset = 0, .of = (model)

/* The model of a table of fields of the struct. */
#define API_MODEL(table, type)                                                 \
	{                                                                      \
		table, count_of(table), sizeof(struct type)                    \
	}

enum { API_MODEL_NAME_MAX = 64 };

/* Writes the fields of the struct as members of the open object. */
void api_model_write(struct json *j, const struct api_model *model,
	const void *value);

/* A field of a struct, or of a struct inside it. */
struct api_model_place {
	const struct api_model_field *field;
	size_t offset; /* of its value in the outer struct */
};

/* Finds a field by its path of names in camelCase: "status.cpu.usedCores".
 * False: there is none, or it is an object. */
bool api_model_find(struct api_model_place *out, const struct api_model *model,
	const char *path);

/* Writes the value at the place as an element of the open array; null if it is
 * not known, or is nothing that this module writes. */
void api_model_write_place(struct json *j, const struct api_model_place *place,
	const void *value);

/* The type of a field's value in OpenAPI: "string", "number", ... */
const char *api_model_type_of(const struct api_model_field *field);

/* Writes "properties" for OpenAPI into the open object. first, if not NULL,
 * writes properties before those of the model. */
void api_model_describe(struct json *j, const struct api_model *model,
	void (*first)(struct json *j));
