// How many nodes are how hot, in four buckets.

import { el, replace } from "./dom.js";
import { DASH } from "./text.js";

// Shares from ... to.
const BUCKETS = [
	{ from: 0, to: 0.5, label: "below 50 %", filter: "heat<50" },
	{ from: 0.5, to: 0.7, label: "50 to 70 %", filter: "heat>=50 heat<70" },
	{ from: 0.7, to: 0.85, label: "70 to 85 %",
		filter: "heat>=70 heat<85" },
	{ from: 0.85, to: Infinity, label: "85 % and more",
		filter: "heat>=85" },
];

export class Buckets {
	// choose(filter): the user wants the nodes of one bucket.
	constructor(choose) {
		this.list = el("ol", { class: "buckets",
			"aria-label": "Nodes by their hottest resource" });
		this.items = BUCKETS.map((bucket, at) => {
			const count = el("b", { text: DASH });
			const bar = el("i");
			const button = el("button", { type: "button",
				"data-bucket": at,
				title: `Show the nodes whose hottest resource is ` +
					bucket.label,
				on: { click: () => choose(bucket.filter) } },
			count, el("span", { text: bucket.label }),
			el("span", { class: "bucket-bar" }, bar));

			this.list.append(el("li", null, button));
			bar.style.width = "0";
			return { count, bar };
		});
		this.element = this.list;
	}

	show(heat) {
		const counts = BUCKETS.map(() => 0);

		for (const share of heat) {
			const at = BUCKETS.findIndex(({ from, to }) =>
				share >= from && share < to);

			if (at >= 0) {
				counts[at]++;
			}
		}
		this.items.forEach(({ count, bar }, at) => {
			replace(count, counts[at].toLocaleString("en-US"));
			bar.style.width = heat.length === 0 ? "0" :
				`${100 * counts[at] / heat.length}%`;
		});
	}
}
