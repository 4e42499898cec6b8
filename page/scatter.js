// What was predicted against what was measured, a point for each move. Points
// on the diagonal were predicted exactly.

/* global Dygraph */

import { el } from "./dom.js";
import { withoutLegend } from "./plot.js";
import { colour, themeChanges } from "./theme.js";
import { isKnown, percent } from "./text.js";

const MARGIN = 0.05; // beside the points

export class Scatter {
	// series: [{ label, predicted, measured }]: members of the items.
	constructor({ title, series, signal }) {
		Object.assign(this, { title, series });
		this.canvas = el("div", { class: "plot-canvas", tabindex: 0,
			role: "img", "aria-label": title });
		this.swatches = series.map(() => el("i", { class: "swatch" }));
		this.swatches.forEach((swatch, at) => {
			swatch.style.background = `var(--plot-${at + 1})`;
		});
		this.element = el("section", { class: "panel",
			"aria-labelledby": "scatter" },
		el("div", { class: "plot-head" },
			el("h2", { id: "scatter", text: title }),
			el("span", { class: "plot-legend" }, series.map(
				({ label }, at) => [this.swatches[at], label]))),
		this.canvas);
		this.element.hidden = true;
		themeChanges.addEventListener("change",
			() => this.graph?.updateOptions(this.options()),
			{ signal });
		signal.addEventListener("abort", () => this.graph?.destroy());
	}

	options() {
		return { colors: this.series.map((_, at) =>
			colour(`plot-${at + 1}`)),
		gridLineColor: colour("grid-line"),
		axisLineColor: colour("line") };
	}

	show(items) {
		const points = this.series.flatMap((one, at) =>
			items.filter((item) => isKnown(item[one.predicted]) &&
				isKnown(item[one.measured]))
				.map((item) => [item[one.predicted],
					...this.series.map((_, i) => i === at ?
						item[one.measured] : null)]));

		this.element.hidden = points.length === 0;
		if (points.length === 0) {
			return;
		}
		points.sort((a, b) => a[0] - b[0]);
		this.describe(points);
		const x = points.map((point) => point[0]);
		const window = [Math.min(...x) - MARGIN, Math.max(...x) + MARGIN];

		if (this.graph === undefined) {
			this.make(points, window);
		} else {
			this.graph.updateOptions({ file: points,
				dateWindow: window });
		}
	}

	make(points, window) {
		const axis = { axisLabelFormatter: (share) => percent(share) };

		withoutLegend();
		this.graph = new Dygraph(this.canvas, points, {
			...this.options(), dateWindow: window,
			labels: ["predicted", ...this.series.map((s) => s.label)],
			drawPoints: true, strokeWidth: 0, pointSize: 3,
			highlightCircleSize: 4,
			axes: { x: axis, y: { ...axis, axisLabelWidth: 62 } },
			interactionModel: {},
			underlayCallback: (context, area, graph) =>
				this.drawDiagonal(context, area, graph),
		});
	}

	drawDiagonal(context, area, graph) {
		const [from, to] = graph.xAxisRange();

		context.save();
		context.beginPath();
		context.rect(area.x, area.y, area.w, area.h);
		context.clip();
		context.strokeStyle = colour("quiet");
		context.setLineDash([4, 4]);
		context.beginPath();
		context.moveTo(graph.toDomXCoord(from), graph.toDomYCoord(from));
		context.lineTo(graph.toDomXCoord(to), graph.toDomYCoord(to));
		context.stroke();
		context.restore();
	}

	describe(points) {
		const off = points.map(([predicted, ...measured]) => Math.abs(
			measured.find((share) => share !== null) - predicted))
			.sort((a, b) => a - b);

		this.canvas.setAttribute("aria-label", `${this.title}. ` +
			`${points.length} points, half of them at most ` +
			`${percent(off[off.length >> 1])} off. ` +
			"The table has the figures.");
	}
}
