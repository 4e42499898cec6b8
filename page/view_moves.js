// Moves of running VMs: recommended, running, done; and why nothing is moved.

import { Failure, get } from "./api.js";
import { textAt } from "./decode.js";
import { columnsOf, compactMove } from "./decisions.js";
import { alertLine, el, replace } from "./dom.js";
import { Grid } from "./grid.js";
import { followOutlook } from "./outlook.js";
import { followRecords, Records } from "./records.js";
import { Scatter } from "./scatter.js";
import { link } from "./state.js";
import { milliseconds, seconds, shown, timeText } from "./text.js";

const EVERY_MS = 10000;

const FIGURES = ["gain", "price", "sourceLoadBefore", "sourceLoadAfter",
	"targetLoadBefore", "targetLoadAfter", "measuredSourceBefore",
	"measuredTargetBefore", "measuredSource3m", "measuredTarget3m",
	"measuredSource60m", "measuredTarget60m", "copySeconds", "memoryBytes",
	"sourceError", "targetError", "progress", "elapsed"];
const WORDS = ["timeText", "endedText", "orderedText", "namespace", "vm",
	"source", "target", "reason", "state", "sentence", "failure",
	"migration", "by", "name"];

const nodeLink = (key) => (rows, i) =>
	link(["nodes", textAt(rows.col[key], i)]);

const WHAT = [
	{ key: "vm", label: "VM", kind: "text", isHead: true, width: 150,
		href: (rows, i) => link(["vms", textAt(rows.col.namespace, i),
			textAt(rows.col.vm, i)]) },
	{ key: "namespace", label: "Namespace", kind: "text", width: 116 },
	{ key: "source", label: "From", kind: "text", width: 112,
		href: nodeLink("source") },
	{ key: "target", label: "To", kind: "text", width: 112,
		href: nodeLink("target") },
	{ key: "reason", label: "Short of", kind: "text", width: 86,
		title: "What is short at the source; room: a pod needs the room" },
];

function share(key, label, title) {
	return { key, label, kind: "share", width: 104, title };
}

const PREDICTED = [
	share("sourceLoadBefore", "From, expected", "Expected share of the source's " +
		"CPUs without the move"),
	share("sourceLoadAfter", "From, after", "The same after the move"),
	share("targetLoadBefore", "To, expected", "Expected share of the target's " +
		"CPUs without the move"),
	share("targetLoadAfter", "To, after", "The same after the move"),
];

const WHY = { key: "sentence", label: "Why", kind: "text" };

const RECOMMENDED = [...WHAT,
	{ key: "gain", label: "Gain", kind: "decimal", width: 76,
		title: "Core-steps of shortage that the move saves" },
	{ key: "price", label: "Price", kind: "decimal", width: 76,
		title: "The price that the gain must exceed" },
	...PREDICTED, { key: "timeText", label: "Since (UTC)", kind: "text",
		width: 176 }, WHY];

function paintProgress(td, rows, i) {
	const part = rows.col.progress.data[i];
	const elapsed = seconds(rows.col.elapsed.data[i]);

	if (td.firstChild === null) {
		td.append(el("progress", { max: 1, "aria-label": "Progress" }));
	}
	if (Number.isNaN(part)) {
		td.firstChild.removeAttribute("value");
	} else {
		td.firstChild.value = part;
	}
	td.title = Number.isNaN(part) ? `for ${elapsed}` :
		`for ${elapsed}; by the copies before, about ` +
		`${Math.round(part * 100)} % of the time`;
}

const RUNNING = [...WHAT,
	{ key: "state", label: "State", kind: "text", width: 90 },
	{ key: "progress", label: "Progress", kind: "share", width: 160,
		isLeft: true, paint: paintProgress,
		title: "The time since the order, of the time that copies of " +
			"this size took" },
	{ key: "elapsed", label: "For", kind: "seconds", width: 76,
		title: "Time since the move was ordered" },
	{ key: "memoryBytes", label: "Memory", kind: "bytes", width: 92 },
	...PREDICTED,
	{ key: "migration", label: "Migration", kind: "text", width: 150 }, WHY];

const DONE = [...WHAT,
	{ key: "state", label: "State", kind: "text", width: 98 },
	{ key: "sourceLoadAfter", label: "From, predicted", kind: "share",
		width: 144, title: "Predicted share of the source's CPUs" },
	{ key: "measuredSource3m", label: "From, 3 min", kind: "share",
		width: 116, title: "Measured 3 minutes after the move" },
	share("measuredSource60m", "From, 1 h", "Measured an hour after the move"),
	{ key: "sourceError", label: "Off by", kind: "share", width: 84,
		title: "Measured less predicted, of the source's CPUs" },
	{ key: "targetLoadAfter", label: "To, predicted", kind: "share",
		width: 118, title: "Predicted share of the target's CPUs" },
	share("measuredTarget3m", "To, 3 min", "Measured 3 minutes after the move"),
	share("measuredTarget60m", "To, 1 h", "Measured an hour after the move"),
	{ key: "targetError", label: "Off by", kind: "share", width: 84,
		title: "Measured less predicted, of the target's CPUs" },
	{ key: "copySeconds", label: "Copy", kind: "seconds", width: 76 },
	{ key: "endedText", label: "Ended (UTC)", kind: "text", width: 176 },
	{ key: "failure", label: "Failure", kind: "text", width: 180 },
	{ ...WHY, width: 320 }];

const hidden = (columns) => FIGURES.concat(WORDS)
	.filter((key) => !columns.some((c) => c.key === key))
	.map((key) => ({ key, label: key, isHidden: true,
		kind: WORDS.includes(key) ? "text" : "decimal" }));

const GROUPS = [
	{ name: "moves-recommended", title: "Recommended", sort: "-gain",
		columns: RECOMMENDED, states: ["Recommended"] },
	{ name: "moves-running", title: "Running", sort: "-elapsed",
		columns: RUNNING, states: ["Ordered", "Running"] },
	{ name: "moves-done", title: "Done: predicted against measured",
		sort: "-endedText", columns: DONE,
		states: ["Succeeded", "Failed", "Withdrawn"] },
];

function median(values) {
	const sorted = values.sort((a, b) => a - b);

	return sorted[Math.floor(sorted.length / 2)];
}

// Seconds for a byte, from copies that ended; NaN: none did.
function pace(items) {
	const known = items.filter((m) => m.copySeconds > 0 &&
		m.memoryBytes > 0).map((m) => m.copySeconds / m.memoryBytes);

	return known.length === 0 ? NaN : median(known);
}

// An hour after the move, or else 3 minutes.
function errors(m) {
	const measuredSource = m.measuredSource60m ?? m.measuredSource3m;
	const measuredTarget = m.measuredTarget60m ?? m.measuredTarget3m;

	return { measuredSource, measuredTarget,
		sourceError: measuredSource - m.sourceLoadAfter,
		targetError: measuredTarget - m.targetLoadAfter };
}

function complete(items) {
	const perByte = pace(items);

	return items.map((m) => {
		const elapsed = (Date.now() - milliseconds(m.ordered)) / 1000;
		const part = elapsed / (perByte * m.memoryBytes);

		return { ...m, elapsed: Math.max(elapsed, 0),
			progress: Math.min(part, 0.99),
			by: m.isAutomatic ? "automatic" : "",
			timeText: timeText(m.time),
			orderedText: timeText(m.ordered),
			endedText: timeText(m.ended),
			...errors(m) };
	});
}

// Why nothing is moved now: from the scheduler, or else from the status.
function followWhy(line, signal) {
	const show = (rebalance) => {
		line.textContent = rebalance === undefined ? "" :
			`Mode ${shown(rebalance.mode)}: ` +
			`${shown(rebalance.why || "moves are ordered when they pay")}.`;
	};

	followOutlook((status) => show(status.rebalance), async (error) => {
		try {
			const { status } = await get(["status", "plimsoll"], null,
				signal);

			show(status.rebalance);
		} catch (other) {
			if (!(other instanceof Failure)) {
				return;
			}
		}
		if (line.textContent === "") {
			line.textContent = "Why nothing is moved is not known: " +
				`${shown(error.message)}.`;
		}
	}, signal);
}

export function showMoves({ main, params, signal, ready }) {
	const list = new Records({ path: ["moves"], compact: compactMove });
	const problem = el("div", { class: "problem" });
	const why = el("p", { class: "summary", id: "why-not" });
	const grids = GROUPS.map((group) => new Grid({ ...group,
		caption: group.title, params: group.name === "moves-done" ?
			params : undefined, isMain: group.name === "moves-done",
		columns: [...group.columns, ...hidden(group.columns)],
		rowClass: (rows, i) =>
			textAt(rows.col.state, i).toLowerCase() }));
	const scatter = new Scatter({ signal,
		title: "Load after the move: measured, by what was predicted",
		series: [
			{ label: "source", predicted: "sourceLoadAfter",
				measured: "measuredSource" },
			{ label: "target", predicted: "targetLoadAfter",
				measured: "measuredTarget" } ] });
	const show = () => {
		const items = complete(list.items);

		scatter.show(items);

		GROUPS.forEach(({ states }, at) => grids[at].setRows(columnsOf(
			items.filter(({ state }) => states.includes(state)),
			{ figures: FIGURES, words: WORDS })));
		older.hidden = !list.hasMore;
	};
	const older = el("button", { type: "button", hidden: true, on: {
		click: () => list.older(signal).then(show, (error) =>
			replace(problem, alertLine(error.message))) } },
	"Load older moves");

	replace(main, el("h1", { text: "Moves" }), problem, why,
		grids.map((grid) => grid.element), scatter.element,
		el("div", { class: "row" }, older));
	signal.addEventListener("abort", () =>
		grids.forEach((grid) => grid.close()));
	followRecords({ list, signal, everyMs: EVERY_MS, problem, show, ready });
	followWhy(why, signal);
}
