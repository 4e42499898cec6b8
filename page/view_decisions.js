// The schedulers' decisions: who came second, and what decided.

import { numberAt, textAt } from "./decode.js";
import { columnsOf, compactDecision } from "./decisions.js";
import { alertLine, el, replace } from "./dom.js";
import { Failure } from "./api.js";
import { Grid } from "./grid.js";
import { followRecords, Records } from "./records.js";
import { link } from "./state.js";
import { count, shown, timeText } from "./text.js";

const EVERY_MS = 15000;

const nodeLink = (key) => (rows, i) => {
	const name = textAt(rows.col[key], i);

	return name === "" ? "" : link(["nodes", name]);
};

const COLUMNS = [
	{ key: "time", label: "Time (UTC)", kind: "text", width: 176,
		isHead: true, href: (rows, i) => link(["decisions",
			textAt(rows.col.namespace, i), textAt(rows.col.name, i)]) },
	{ key: "namespace", label: "Namespace", kind: "text", width: 120 },
	{ key: "vm", label: "VM", kind: "text", width: 140,
		href: (rows, i) => textAt(rows.col.vm, i) === "" ? "" :
			link(["vms", textAt(rows.col.namespace, i),
				textAt(rows.col.vm, i)]) },
	{ key: "chosen", label: "Chosen", kind: "text", width: 120,
		title: "The chosen node; a dash: no node was feasible",
		href: nodeLink("chosen") },
	{ key: "runnerUp", label: "Runner-up", kind: "text", width: 120,
		title: "The next best node", href: nodeLink("runnerUp") },
	{ key: "margin", label: "Ahead", kind: "decimal", width: 78,
		title: "Points ahead of the runner-up" },
	{ key: "decidedBy", label: "Decided by", kind: "text", width: 108,
		title: "The term that counts most against the runner-up" },
	{ key: "decidedPoints", label: "Points", kind: "decimal", width: 80,
		title: "The points of that term in the margin" },
	{ key: "feasible", label: "Feasible", kind: "count", width: 88,
		title: "Nodes on which the pod could run" },
	{ key: "nodes", label: "Nodes", kind: "count", width: 72 },
	{ key: "sentence", label: "In words", kind: "text" },
	{ key: "pod", label: "Pod", kind: "text", isHidden: true },
	{ key: "name", label: "Name", kind: "text", isHidden: true },
];

const SHAPE = {
	figures: ["margin", "decidedPoints", "feasible", "nodes"],
	words: ["time", "namespace", "vm", "chosen", "runnerUp", "decidedBy",
		"sentence", "pod", "name"],
};

const idOf = (rows, i) => `${textAt(rows.col.namespace, i)}/` +
	textAt(rows.col.name, i);

// "Of 200 decisions, 3 found no node; cpu decided 120, memory 77."
function summary(items) {
	const by = new Map();
	const none = items.filter(({ chosen }) => chosen === "").length;

	for (const { decidedBy } of items) {
		if (decidedBy !== "") {
			by.set(decidedBy, (by.get(decidedBy) ?? 0) + 1);
		}
	}
	const terms = [...by].sort((a, b) => b[1] - a[1])
		.map(([term, n]) => `${shown(term)} decided ${count(n)}`);

	return `${count(items.length)} decisions. ` +
		`${[`${count(none)} found no node`, ...terms].join("; ")}.`;
}

export function showDecisions({ main, params, signal, ready }) {
	const list = new Records({ path: ["decisions"],
		compact: compactDecision });
	const grid = new Grid({ name: "decisions", caption: "Decisions",
		title: "Newest first", columns: COLUMNS, sort: "-time",
		isMain: true, params, idOf,
		rowClass: (rows, i) => numberAt(rows.col.feasible, i) === 0 ?
			"failed" : "" });
	const line = el("p", { class: "summary" });
	const problem = el("div", { class: "problem" });
	const show = () => {
		const items = list.items.map((item) =>
			({ ...item, time: timeText(item.ms / 1000) }));

		line.textContent = summary(items);
		grid.setRows(columnsOf(items, SHAPE));
		older.hidden = !list.hasMore;
	};
	const older = el("button", { type: "button", hidden: true, on: {
		click: async () => {
			older.disabled = true;
			try {
				await list.older(signal);
				show();
			} catch (error) {
				if (error instanceof Failure) {
					replace(problem, alertLine(error.message));
				}
			}
			older.disabled = false;
		} } }, "Load older decisions");

	grid.element.classList.add("tall");
	replace(main, el("h1", { text: "Decisions" }), problem, line,
		grid.element, el("div", { class: "row" }, older));
	signal.addEventListener("abort", () => grid.close());
	followRecords({ list, signal, everyMs: EVERY_MS, problem, show, ready });
}
