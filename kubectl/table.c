#include "kubectl/table.h"

#include "kubectl/escape.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <stdlib.h>

enum { GAP = 3 };

static void add(struct table *table, char *cell)
{
	table->cells = xgrow(table->cells, table->count, &table->capacity,
		sizeof(*table->cells));
	table->cells[table->count++] = cell;
}

void table_init(struct table *table, const char *const *headers)
{
	*table = (struct table){ 0 };
	for (; headers[table->columns] != NULL &&
		table->columns < TABLE_COLUMNS_MAX;
		table->columns++) {
		add(table, xstrdup(headers[table->columns]));
	}
}

void table_fini(struct table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		free(table->cells[i]);
	}
	free(table->cells);
	*table = (struct table){ 0 };
}

void table_cell(struct table *table, const char *text)
{
	add(table, escape_copy(text == NULL || *text == '\0' ? "-" : text));
}

/* In characters. Names are ASCII; wide characters of other texts stand in last
 * columns. */
static size_t width(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++) {
		count += (*text & 0xc0) != 0x80;
	}
	return count;
}

static void pad(struct buffer *out, size_t count)
{
	buffer_printf(out, "%*s", (int)count, "");
}

void table_write(struct buffer *out, const struct table *table,
	bool has_headers)
{
	size_t first = has_headers ? 0 : table->columns;
	size_t widths[TABLE_COLUMNS_MAX] = { 0 };

	for (size_t i = first; i < table->count; i++) {
		size_t cell = width(table->cells[i]);
		size_t *column = &widths[i % table->columns];

		*column = cell > *column ? cell : *column;
	}
	for (size_t i = first; i < table->count; i++) {
		size_t column = i % table->columns;

		buffer_text(out, table->cells[i]);
		if (column + 1 == table->columns) {
			buffer_char(out, '\n');
		} else {
			pad(out, widths[column] + GAP - width(table->cells[i]));
		}
	}
}
