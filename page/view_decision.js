// One decision: the best nodes with their terms, and why others were not
// feasible.

import { get } from "./api.js";
import { compactDecision } from "./decisions.js";
import { alertLine, el, facts, replace } from "./dom.js";
import { Grid } from "./grid.js";
import { numbers, textAt, texts } from "./decode.js";
import { follow } from "./live.js";
import { link } from "./state.js";
import * as text from "./text.js";

const SHARES = {
	cpuUsed: "CPU used", cpuExpected: "CPU expected", cpuByPod: "By pod",
	cpuByStarting: "By starting", cpuByGrowth: "By growth",
	cpuDeviation: "Deviation", cpuByRequests: "CPU requested",
	memoryExpected: "Mem expected", memoryByRequests: "Mem requested",
	contention: "Contention", memoryPressure: "Mem wait",
	ioPressure: "I/O wait", trust: "Trust",
};

function candidates(best, signal) {
	const terms = [...new Set(best.flatMap((one) =>
		Object.keys(one.terms ?? {})))];
	const columns = [
		{ key: "node", label: "Node", kind: "text", width: 150,
			isHead: true, href: (rows, i) =>
				link(["nodes", textAt(rows.col.node, i)]) },
		{ key: "score", label: "Points", kind: "decimal", width: 84 },
		...terms.map((term) => ({ key: `term.${term}`, label: term,
			kind: "decimal", width: 100,
			title: `Points of the term ${term}` })),
		...Object.entries(SHARES).map(([key, label]) =>
			({ key, label, kind: "time_share", width: 132 })),
		{ key: "cpuRoom", label: "Room", kind: "decimal", width: 76,
			title: "Standard deviations from expected to all CPUs" },
		{ key: "cpuShortage", label: "Shortage", kind: "seconds",
			width: 92, title: "Core-seconds of CPU shortage that are " +
				"expected in the next hour with this pod" },
		{ key: "cpuShortageAdded", label: "Adds", kind: "seconds",
			width: 76, title: "The part of the shortage that this " +
				"pod adds" },
		{ key: "siblings", label: "Siblings", kind: "decimal",
			width: 84, title: "Siblings of the VM on the node" },
		{ key: "loadAgeSeconds", label: "Load age", kind: "seconds",
			width: 88 },
	];
	const grid = new Grid({ name: "candidates", caption: "The best nodes",
		columns, sort: "-score", hasFilter: false });
	const col = { node: texts(best.length, (i) => best[i].node) };

	for (const { key } of columns.slice(1)) {
		const term = key.startsWith("term.") ? key.slice(5) : null;

		col[key] = numbers(best.length, (i) => term === null ?
			best[i][key] : best[i].terms?.[term]);
	}
	signal.addEventListener("abort", () => grid.close());
	grid.setRows({ count: best.length, col });
	return grid.element;
}

function rejections(list) {
	const names = ({ names: some, nodes }) => (some ?? []).join(", ") +
		(nodes > (some ?? []).length ? ", \u2026" : "");

	return el("section", { class: "panel", "aria-labelledby": "rejected" },
		el("h2", { id: "rejected", text: "Nodes that are not feasible" }),
		el("div", { class: "scroll", tabindex: 0, role: "region",
			"aria-labelledby": "rejected" },
		el("table", { class: "small", "data-table": "rejections" },
			el("caption", { class: "hidden",
				text: "Reasons and nodes" }),
			el("thead", null, el("tr", null,
				["Reason", "Nodes", "Some of them"].map((label) =>
					el("th", { scope: "col", text: label })))),
			el("tbody", null, list.map((one) => el("tr", null,
				el("th", { scope: "row", class: "long",
					text: one.reason }),
				el("td", { text: text.count(one.nodes) }),
				el("td", { class: "long", text: names(one) })))))));
}

function content(object, signal) {
	const one = compactDecision(object);
	const { status } = object;
	const node = (name) => name === "" ? text.DASH :
		el("a", { href: link(["nodes", name]), text: name });

	return [
		el("p", { class: "sentence panel", text: one.sentence }),
		el("section", { class: "panel", "aria-labelledby": "result" },
			el("h2", { id: "result", text: "Result" }),
			facts([
				["When", `${text.timeText(status.time)} UTC`],
				["VM", one.vm === "" ? text.DASH : el("a", {
					href: link(["vms", one.namespace, one.vm]),
					text: one.vm })],
				["Pod", one.pod || text.DASH],
				["Chosen", node(one.chosen)],
				["Runner-up", node(one.runnerUp)],
				["Points ahead", text.decimal(one.margin)],
				["Decided by", one.decidedBy === "" ? text.DASH :
					`${one.decidedBy} ` +
					`(${text.decimal(one.decidedPoints)} points)`],
				["Feasible", `${text.count(one.feasible)} of ` +
					`${text.count(one.nodes)} nodes`],
				["History that counted",
					text.seconds(status.pastSeconds)],
				["Its mean", `${text.cores(status.pastCores)} cores`],
				["Policy", status.policy ?? text.DASH],
			])),
		(status.best ?? []).length > 0 && candidates(status.best, signal),
		(status.rejections ?? []).length > 0 &&
			rejections(status.rejections),
	];
}

export function showDecision({ main, path, signal, ready }) {
	const [, namespace, name] = path;
	const where = el("div", { class: "stack" });

	replace(main, el("h1", { text: "Decision" }),
		el("p", { class: "note", text: `${namespace}/${name}` }), where);
	follow({ signal, betweenMs: () => 3600000, // a decision never changes
		ask: () => get(["namespaces", namespace, "decisions", name ?? ""],
			null, signal),
		show: (object) => {
			replace(where, content(object, signal));
			ready();
		},
		fail: (error) => {
			replace(where, alertLine(error.message));
			ready();
		} });
}

