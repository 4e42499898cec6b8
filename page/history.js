// The history of a node or VM: plots, the table of their figures, and buttons
// for the time that is shown.

import { get } from "./api.js";
import { numbers, texts } from "./decode.js";
import { alertLine, el, replace } from "./dom.js";
import { Grid } from "./grid.js";
import { follow } from "./live.js";
import { Plot } from "./plot.js";
import { changeState } from "./state.js";
import { milliseconds, seconds, timeText } from "./text.js";

const RANGES = { "1h": 3600, "6h": 21600, "1d": 86400, "7d": 604800,
	"30d": 2592000, "1y": 31536000 };
const LEAST_MS = 60000; // the shortest time that is shown

function rfc3339(ms) {
	return new Date(ms).toISOString().slice(0, 19) + "Z";
}

export class History {
	// path: of the object. plots: [{ title, series: [{ key, label, kind,
	// fields, of }] }]: of(...) makes the figure of the fields' values.
	constructor({ path, name, plots, params, signal, marks }) {
		Object.assign(this, { path, name, signal });
		this.from = milliseconds(params.get("from"));
		this.to = milliseconds(params.get("to"));
		this.range = RANGES[params.get("range")] === undefined ? "1h" :
			params.get("range");
		this.series = plots.flatMap((plot) => plot.series);
		this.fields = [...new Set(this.series.flatMap((s) => s.fields))];
		this.plots = plots.map((plot) => ({ series: plot.series,
			plot: new Plot({ title: plot.title,
				series: plot.series, signal, marks,
				zoom: (from, to) => this.zoom(from, to),
				reset: () => this.setRange(this.range) }) }));
		this.build();
		this.start();
	}

	build() {
		this.grid = new Grid({ name: `history-${this.name}`,
			caption: "Figures of the plots", sort: "-time",
			hasFilter: false,
			columns: [{ key: "time", label: "Time (UTC)",
				kind: "text", width: 176, isHead: true },
			...this.series.map(({ key, label, kind }) =>
				({ key, label, kind, width: 108 }))] });
		this.signal.addEventListener("abort", () => this.grid.close());
		this.problem = el("div", { class: "problem" });
		this.span = el("span", { class: "note" });
		this.element = el("section", { class: "panel",
			"aria-labelledby": "history-title" },
		el("div", { class: "row" },
			el("h2", { id: "history-title", text: "History" }),
			this.buildButtons(), this.span),
		this.problem,
		el("div", { class: "beside" },
			el("div", null, this.plots.map(({ plot }) =>
				plot.element)),
			this.grid.element));
	}

	buildButtons() {
		const button = (text, label, click) => el("button", {
			type: "button", "aria-label": label, on: { click } },
		text);
		const step = (a, b) => () => {
			const [from, to] = this.window();

			this.zoom(from + a * (to - from), to + b * (to - from));
		};

		this.buttons = Object.keys(RANGES).map((range) => [range,
			button(range, `Last ${range}`,
				() => this.setRange(range))]);
		return el("div", { class: "ranges", role: "group",
			"aria-label": "Time shown" },
		this.buttons.map(([, element]) => element),
		button("\u2190", "Earlier", step(-0.5, -0.5)),
		button("\u2192", "Later", step(0.5, 0.5)),
		button("+", "Zoom in", step(0.25, -0.25)),
		button("\u2212", "Zoom out", step(-0.5, 0.5)));
	}

	// [from, to] in ms.
	window() {
		const now = Date.now();

		return this.isFixed() ? [this.from, this.to] :
			[now - RANGES[this.range] * 1000, now];
	}

	isFixed() {
		return this.from < this.to;
	}

	setRange(range) {
		Object.assign(this, { range, from: NaN, to: NaN });
		changeState({ range: range === "1h" ? "" : range, from: "",
			to: "" });
		this.start();
	}

	zoom(from, to) {
		const least = Math.max(LEAST_MS - (to - from), 0) / 2;

		this.to = Math.min(to + least, Date.now());
		this.from = Math.min(from - least, this.to - LEAST_MS);
		changeState({ from: rfc3339(this.from), to: rfc3339(this.to) });
		this.start();
	}

	// Asks now, and each half minute if the time goes on.
	start() {
		this.run?.abort();
		this.run = new AbortController();
		const signal = AbortSignal.any([this.signal, this.run.signal]);

		for (const [range, button] of this.buttons) {
			button.setAttribute("aria-pressed",
				String(!this.isFixed() && range === this.range));
		}
		follow({ signal,
			betweenMs: () => this.isFixed() ? 3600000 : 30000,
			ask: () => this.ask(signal),
			show: (answer) => this.show(answer),
			fail: (error) => replace(this.problem,
				alertLine(error.message)) });
	}

	ask(signal) {
		const [from, to] = this.window();

		return get([...this.path, "history"], { from: rfc3339(from),
			to: rfc3339(to), fields: this.fields.join(",") }, signal);
	}

	show(answer) {
		const at = this.series.map((s) =>
			s.fields.map((f) => answer.fields.indexOf(f) + 1));
		const figure = (row, i) => {
			const values = at[i].map((place) => row[place]);

			return values.some((v) => v === null || v === undefined) ?
				null : (this.series[i].of ?? ((v) => v))(...values);
		};
		const rows = answer.rows.map((row) => [milliseconds(row[0]),
			...this.series.map((_, i) => figure(row, i))]);

		this.showSources(answer.sources ?? []);
		this.span.textContent = `${timeText(answer.from)} to ` +
			`${timeText(answer.to)} UTC, a row each ` +
			seconds(answer.stepSeconds);
		this.showPlots(rows);
		this.showTable(rows);
	}

	// Rows that do not come from the aggregator's own database.
	showSources(sources) {
		const remote = sources.find((s) => s.source === "remote");

		if (remote === undefined) {
			replace(this.problem);
		} else if (remote.error === undefined) {
			replace(this.problem, el("p", { class: "note",
				text: `Until ${timeText(remote.to)} UTC from ` +
				"the engine of remote read." }));
		} else {
			replace(this.problem, alertLine("Without the engine of " +
				`remote read until ${timeText(remote.to)} ` +
				`UTC: ${remote.error}`));
		}
	}

	showPlots(rows) {
		let first = 1;

		for (const { plot, series } of this.plots) {
			const from = first;

			plot.show(rows.map((row) => [row[0],
				...row.slice(from, from + series.length)]),
			this.window());
			first += series.length;
		}
	}

	showTable(rows) {
		const col = { time: texts(rows.length,
			(i) => timeText(rows[i][0] / 1000)) };

		this.series.forEach(({ key }, at) => {
			col[key] = numbers(rows.length, (i) => rows[i][at + 1]);
		});
		this.grid.setRows({ count: rows.length, col });
	}

	redraw() {
		this.plots.forEach(({ plot }) => plot.redraw());
	}
}
