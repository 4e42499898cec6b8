#include "aggregator/apiserver/field_cells.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum source { FROM_OBJECT, FROM_NAME, FROM_NAMESPACE };

struct cell {
	const char *name; /* in the text of the cells */
	enum source source;
	struct api_model_place place; /* FROM_OBJECT */
};

struct field_cells {
	char *text; /* owned: the names, each with its NUL */
	struct cell cells[FIELD_CELLS_MAX];
	size_t count;
};

static bool find(struct cell *cell, enum api_kind kind, const char *name)
{
	cell->name = name;
	if (strcmp(name, "metadata.name") == 0) {
		cell->source = FROM_NAME;
		return true;
	}
	if (strcmp(name, "metadata.namespace") == 0) {
		cell->source = FROM_NAMESPACE;
		return api_is_namespaced(kind);
	}
	cell->source = FROM_OBJECT;
	return api_model_find(&cell->place, api_type_of(kind)->model, name);
}

static int parse(struct field_cells *cells, enum api_kind kind,
	struct error *err)
{
	char *rest = cells->text;

	while (rest != NULL) {
		const char *name = strsep(&rest, ",");

		if (cells->count == FIELD_CELLS_MAX) {
			return error_set(err, -EINVAL, "fields: more than %d",
				FIELD_CELLS_MAX);
		}
		if (!find(&cells->cells[cells->count], kind, name)) {
			return error_set(err, -EINVAL,
				"fields: '%.100s' is not a field of %s", name,
				api_plural(kind));
		}
		cells->count++;
	}
	return 0;
}

int field_cells_parse(struct field_cells **out, const char *text,
	enum api_kind kind, struct error *err)
{
	struct field_cells *cells = xcalloc(1, sizeof(*cells));
	int r;

	cells->text = xstrdup(text);
	r = parse(cells, kind, err);
	if (r < 0) {
		field_cells_free(cells);
		return r;
	}
	*out = cells;
	return 0;
}

void field_cells_free(struct field_cells *cells)
{
	if (cells != NULL) {
		free(cells->text);
		free(cells);
	}
}

static void write_column(struct json *j, const struct cell *cell)
{
	bool is_object = cell->source == FROM_OBJECT;

	json_object(j, NULL);
	json_string(j, "name", cell->name);
	json_string(j, "type",
		is_object ? api_model_type_of(cell->place.field) : "string");
	json_string(j, "format", "");
	json_string(j, "description", is_object ? cell->place.field->help : "");
	json_integer(j, "priority", 0);
	json_object_end(j);
}

void field_cells_begin(struct json *j, const struct field_cells *cells)
{
	json_object(j, NULL);
	json_string(j, "kind", "Table");
	json_string(j, "apiVersion", "meta.k8s.io/v1");
	json_array(j, "columnDefinitions");
	for (size_t i = 0; i < cells->count; i++) {
		write_column(j, &cells->cells[i]);
	}
	json_array_end(j);
	json_array(j, "rows");
}

static void write_cell(struct json *j, const struct cell *cell,
	const struct api_item *item)
{
	switch (cell->source) {
	case FROM_NAME:
		json_string(j, NULL, item->name);
		return;
	case FROM_NAMESPACE:
		json_string(j, NULL, item->namespace);
		return;
	case FROM_OBJECT:
		api_model_write_place(j, &cell->place, item->object);
		return;
	}
}

void field_cells_write(struct json *j, const struct field_cells *cells,
	const struct api_item *item)
{
	json_object(j, NULL);
	json_array(j, "cells");
	for (size_t i = 0; i < cells->count; i++) {
		write_cell(j, &cells->cells[i], item);
	}
	json_array_end(j);
	json_object_end(j);
}
