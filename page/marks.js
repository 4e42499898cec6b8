// Decisions and moves about a node or VM: marks on its plots, and their table.

import { Failure } from "./api.js";
import { textAt } from "./decode.js";
import { columnsOf, compactDecision, compactMove } from "./decisions.js";
import { el } from "./dom.js";
import { Grid } from "./grid.js";
import { repeat } from "./live.js";
import { Records } from "./records.js";
import { link } from "./state.js";
import { milliseconds, timeText } from "./text.js";

const EVERY_MS = 30000;

const COLUMNS = [
	{ key: "time", label: "Time (UTC)", kind: "text", width: 176,
		isHead: true },
	{ key: "what", label: "What", kind: "text", width: 168 },
	{ key: "namespace", label: "Namespace", kind: "text", width: 130 },
	{ key: "vm", label: "VM", kind: "text", width: 160,
		href: (rows, i) => textAt(rows.col.vm, i) === "" ? "" :
			link(["vms", textAt(rows.col.namespace, i),
				textAt(rows.col.vm, i)]) },
	{ key: "from", label: "From", kind: "text", width: 120 },
	{ key: "to", label: "To", kind: "text", width: 120 },
	{ key: "sentence", label: "Why", kind: "text" },
];

function ofDecision(one) {
	return { ms: one.ms, time: timeText(one.ms / 1000),
		what: one.chosen === "" ? "no node fits" : "placed",
		namespace: one.namespace, vm: one.vm, from: "", to: one.chosen,
		sentence: one.sentence, letter: "D", colour: "quiet" };
}

function ofMove(one) {
	const ms = milliseconds(one.ended ?? one.ordered ?? one.time);

	return { ms, time: timeText(ms / 1000),
		what: `move ${one.state.toLowerCase()}`,
		namespace: one.namespace, vm: one.vm, from: one.source,
		to: one.target, sentence: one.failure || one.sentence || "",
		letter: "M", colour: one.state === "Failed" ? "hot" : "plot-4" };
}

export class Marks {
	// path: [] or ["namespaces", NAME]. decisions, moves: the field
	// selectors. changed(): there are other marks.
	constructor({ path, decisions, moves, changed, signal }) {
		const of = (resource, compact) => (fieldSelector) =>
			new Records({ path: [...path, resource],
				params: { fieldSelector }, compact });

		this.lists = [
			...decisions.map(of("decisions", compactDecision)),
			...moves.map(of("moves", compactMove)),
		];
		this.decisions = decisions.length;
		this.marks = [];
		this.note = el("p", { class: "note", hidden: true });
		this.grid = new Grid({ name: "marks", sort: "-time",
			caption: "Decisions and moves", columns: COLUMNS });
		this.element = el("div", null, this.note, this.grid.element);
		signal.addEventListener("abort", () => this.grid.close());
		repeat({ signal, everyMs: EVERY_MS, fail: () => {},
			ask: async () => {
				await this.load(signal);
				if (!signal.aborted) {
					this.show();
					changed();
				}
			} });
	}

	async load(signal) {
		for (const list of this.lists) {
			try {
				await list.newest(signal);
				this.note.hidden = true;
			} catch (error) {
				if (!(error instanceof Failure) ||
					error.status === 401) {
					throw error;
				}
				this.note.textContent = error.message;
				this.note.hidden = false;
			}
		}
	}

	show() {
		this.marks = this.lists.flatMap((list, at) => list.items.map(
			at < this.decisions ? ofDecision : ofMove));
		this.grid.setRows(columnsOf(this.marks, { figures: [],
			words: COLUMNS.map(({ key }) => key) }));
	}

	// The last decision about a VM, or undefined.
	get lastDecision() {
		return this.lists[0].items[0];
	}
}
