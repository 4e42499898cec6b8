// A plot over time, drawn by dygraphs.

/* global Dygraph */

import { el, replace, setText } from "./dom.js";
import { kinds } from "./kinds.js";
import { colour, themeChanges } from "./theme.js";
import { timeText } from "./text.js";

// Its legend writes markup with styles, which the page's policy forbids. Call
// this before a graph is made.
export function withoutLegend() {
	Dygraph.PLUGINS = Dygraph.PLUGINS.filter(
		(plugin) => plugin !== Dygraph.Plugins.Legend);
}

export class Plot {
	// series: [{ label, kind }]. marks(): [{ ms, letter, colour }].
	// zoom(fromMs, toMs) and reset(): the user wants another time.
	constructor({ title, series, marks, zoom, reset, signal }) {
		Object.assign(this, { title, series, marks, zoom, reset });
		this.rows = [];
		this.legend = el("span", { class: "plot-legend" });
		this.canvas = el("div", { class: "plot-canvas", tabindex: 0,
			role: "img", "aria-label": title });
		this.element = el("div", { class: "plot" },
			el("div", { class: "plot-head" },
				el("h3", { text: title }), this.legend),
			this.canvas);
		this.canvas.addEventListener("keydown", (e) => this.onKey(e));
		themeChanges.addEventListener("change", () => this.recolour(),
			{ signal });
		signal.addEventListener("abort", () => this.close());
		this.buildLegend();
	}

	buildLegend() {
		this.values = this.series.map(() => el("span"));
		this.swatches = this.series.map(() =>
			el("i", { class: "swatch" }));
		replace(this.legend, this.series.map(({ label }, at) => [
			this.swatches[at], `${label} `, this.values[at], " "]));
		this.paintSwatches();
	}

	paintSwatches() {
		this.swatches.forEach((swatch, at) => {
			swatch.style.background = `var(--plot-${at % 5 + 1})`;
		});
	}

	colours() {
		return this.series.map((_, at) => colour(`plot-${at % 5 + 1}`));
	}

	options() {
		return { colors: this.colours(),
			gridLineColor: colour("grid-line"),
			axisLineColor: colour("line") };
	}

	// rows: [[ms, value or null, ...]]; window: [fromMs, toMs].
	show(rows, window) {
		this.rows = rows;
		this.window = window;
		const data = (rows.length > 0 ? rows :
			[[window[0], ...this.series.map(() => null)]])
			.map(([ms, ...values]) => [new Date(ms), ...values]);

		if (this.graph === undefined) {
			this.make(data);
		} else {
			this.graph.updateOptions({ file: data,
				dateWindow: window });
		}
		this.showValues(rows.length - 1);
		this.describe();
	}

	make(data) {
		const write = kinds[this.series[0].kind].write;

		withoutLegend();
		this.graph = new Dygraph(this.canvas, data, {
			...this.options(),
			labels: ["time", ...this.series.map((s) => s.label)],
			labelsUTC: true,
			dateWindow: this.window,
			includeZero: true,
			strokeWidth: 1.6,
			highlightCircleSize: 3,
			axes: { y: { axisLabelFormatter: (value) => write(value),
				axisLabelWidth: 62 } },
			interactionModel: {
				...Dygraph.defaultInteractionModel,
				dblclick: () => this.reset(),
			},
			zoomCallback: (from, to) => this.zoom(from, to),
			highlightCallback: (e, x, points, row) =>
				this.showValues(row),
			unhighlightCallback: () =>
				this.showValues(this.rows.length - 1),
			underlayCallback: (context, area, graph) =>
				this.drawMarks(context, area, graph),
		});
	}

	// The values at a row, or the last known ones.
	showValues(row) {
		this.series.forEach(({ kind }, at) => {
			let i = row;

			while (row === this.rows.length - 1 && i > 0 &&
				this.rows[i][at + 1] === null) {
				i--;
			}
			const value = this.rows[i]?.[at + 1];

			setText(this.values[at], kinds[kind].write(value));
		});
		this.legend.title = this.rows[row] === undefined ? "" :
			timeText(this.rows[row][0] / 1000);
	}

	// What the picture shows, for those who do not see it.
	describe() {
		const texts = this.series.map(({ label, kind }, at) => {
			const known = this.rows.map((row) => row[at + 1])
				.filter((value) => value !== null);
			const write = kinds[kind].write;

			return `${label}: ` + (known.length === 0 ? "not known" :
				`from ${write(Math.min(...known))} to ` +
				`${write(Math.max(...known))}, last ` +
				write(known.at(-1)));
		});

		this.canvas.setAttribute("aria-label", `${this.title}. ` +
			`${texts.join("; ")}. The table has the figures.`);
	}

	drawMarks(context, area, graph) {
		context.save();
		context.font = "10px sans-serif";
		context.textAlign = "center";
		for (const { ms, letter, colour: name } of this.marks?.() ?? []) {
			const x = Math.round(graph.toDomXCoord(ms)) + 0.5;

			if (x < area.x || x > area.x + area.w) {
				continue;
			}
			context.strokeStyle = colour(name);
			context.fillStyle = colour(name);
			context.setLineDash([3, 3]);
			context.beginPath();
			context.moveTo(x, area.y + 11);
			context.lineTo(x, area.y + area.h);
			context.stroke();
			context.fillText(letter, x, area.y + 9);
		}
		context.restore();
	}

	redraw() {
		this.graph?.updateOptions({});
	}

	recolour() {
		this.graph?.updateOptions(this.options());
	}

	onKey(event) {
		const [from, to] = this.window ?? [0, 0];
		const part = (to - from) / 4;
		const moves = {
			ArrowLeft: [-part, -part], ArrowRight: [part, part],
			"+": [part, -part], "-": [-2 * part, 2 * part],
		};
		const move = moves[event.key];

		if (move !== undefined && to > from && !event.ctrlKey) {
			event.preventDefault();
			this.zoom(from + move[0], to + move[1]);
		}
	}

	close() {
		this.graph?.destroy();
		this.graph = undefined;
	}
}

