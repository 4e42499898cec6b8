#include "simulate/svg.h"

#include <math.h>

/* Pixels. Steps of long days are skipped to fit COLUMNS_MAX. */
enum { COLUMNS_MAX = 960, COLUMN = 3, ROW = 6 };
enum { TITLE = 28, MARGIN = 12, WIDTH_MIN = 420 };

static size_t columns(const struct scenario *s)
{
	return s->steps < COLUMNS_MAX ? s->steps : COLUMNS_MAX;
}

static size_t panel_height(const struct scenario *s)
{
	return TITLE + s->node_count * ROW + MARGIN;
}

void svg_begin(struct buffer *out, const struct scenario *scenario,
	size_t policies)
{
	size_t width = columns(scenario) * COLUMN;
	size_t height = panel_height(scenario) * policies + MARGIN;

	width = (width < WIDTH_MIN ? WIDTH_MIN : width) + (size_t)2 * MARGIN;
	buffer_printf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" "
		"height=\"%zu\" font-family=\"sans-serif\" font-size=\"13\">\n"
		"<rect width=\"%zu\" height=\"%zu\" fill=\"#fff\"/>\n",
		width, height, width, height);
}

/* In steps of 1/20, so that equal neighbours become one rectangle. */
static int shade(double load)
{
	return (int)fmin(round(fmax(load, 0) * 20), 30);
}

static void put_colour(struct buffer *out, int shade)
{
	if (shade > 20) {
		buffer_printf(out, "#%02x2020", 150 + (shade - 20) * 10);
		return;
	}
	buffer_printf(out, "#%02x%02xff", 255 - shade * 12, 255 - shade * 9);
}

static void put_row(struct buffer *out, const struct scenario *s,
	const float *loads, size_t y)
{
	size_t count = columns(s);
	size_t from = 0;

	for (size_t i = 1; i <= count; i++) {
		int now = shade((double)loads[from * s->steps / count]);

		if (i < count &&
			shade((double)loads[i * s->steps / count]) == now) {
			continue;
		}
		buffer_printf(out,
			"<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" "
			"height=\"%d\" fill=\"",
			MARGIN + from * COLUMN, y, (i - from) * COLUMN,
			ROW - 1);
		put_colour(out, now);
		buffer_text(out, "\"/>\n");
		from = i;
	}
}

/* A line from the source's row to the target's, with a dot at the target. */
static void put_move(struct buffer *out, const struct scenario *s,
	const struct simulated_moves_mark *move, size_t top)
{
	size_t x = MARGIN + move->step * columns(s) / s->steps * COLUMN +
		COLUMN / 2;
	size_t from = top + move->source * ROW + ROW / 2;
	size_t to = top + move->target * ROW + ROW / 2;

	buffer_printf(out,
		"<path class=\"move\" d=\"M%zu %zuV%zu\" stroke=\"#080\"/>"
		"<circle cx=\"%zu\" cy=\"%zu\" r=\"2\" fill=\"#080\"/>\n",
		x, from, to, x, to);
}

void svg_policy(struct buffer *out, const struct scenario *scenario,
	const struct simulation *simulation, const char *name, size_t index)
{
	size_t top = MARGIN + index * panel_height(scenario);

	buffer_printf(out,
		"<text x=\"%d\" y=\"%zu\">%s: %.3f %% of demand unserved, "
		"%.2f %% of node-steps over 90 %%",
		MARGIN, top + 14, name, simulation->unserved_pct,
		simulation->overload_pct);
	if (simulation->moves.moves > 0) {
		buffer_printf(out, ", %zu moves", simulation->moves.moves);
	}
	buffer_text(out, "</text>\n");
	for (size_t i = 0; i < scenario->node_count; i++) {
		put_row(out, scenario, simulation->loads + i * scenario->steps,
			top + TITLE + i * ROW);
	}
	for (size_t i = 0; i < simulation->moves.moves; i++) {
		put_move(out, scenario, &simulation->marks[i], top + TITLE);
	}
}

void svg_end(struct buffer *out)
{
	buffer_text(out, "</svg>\n");
}
