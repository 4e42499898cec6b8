// Room: the largest VMs that fit, and the pods for which room is made.

import { alertLine, el, facts, replace } from "./dom.js";
import { answered } from "./live.js";
import { followOutlook } from "./outlook.js";
import * as text from "./text.js";

// columns: [label, text of an item]. A column that knows nothing of any item
// is left out.
function table(name, caption, columns, items) {
	const kept = columns.filter(([, textOf], at) => at === 0 ||
		items.some((item) => textOf(item) !== text.DASH));
	const labels = kept.map(([label]) => label);
	const rows = items.map((item) => kept.map(([, textOf]) =>
		textOf(item)));

	return el("div", { class: "scroll", tabindex: 0, role: "region",
		"aria-label": caption },
	el("table", { class: "small", "data-table": name },
		el("caption", { class: "hidden", text: caption }),
		el("thead", null, el("tr", null, labels.map((label) =>
			el("th", { scope: "col", text: label })))),
		el("tbody", null, rows.map((cells) => el("tr", null,
			cells.map((cell, at) => el(at === 0 ? "th" : "td",
				{ scope: at === 0 ? "row" : null,
					class: cell.length > 28 ? "long" : null },
				cell)))))));
}

// given_up, GivenUp: "given up".
function stateWords(state) {
	return state === undefined ? text.DASH :
		text.words(state.replace(/_/g, " ")).toLowerCase();
}

function size(one) {
	return one === null || one === undefined ? text.DASH :
		`${one.vcpus} vCPUs, ${one.memoryGib} GiB`;
}

function largest(one) {
	if (one === null || one === undefined) {
		return "none";
	}
	const moves = one.moves > 0 ? ` after ${one.moves} ` +
		(one.moves === 1 ? "move" : "moves") : "";

	return `${size(one)} on ${one.node}${moves}`;
}

function fits(shape) {
	if (shape.fitsNow) {
		return `now, on ${text.count(shape.nodes)} nodes`;
	}
	return shape.moves > 0 ? `after ${shape.moves} ` +
		(shape.moves === 1 ? "move" : "moves") :
		shape.cutOff ? "not known: the search was cut off" : "no";
}

const SHAPE = [
	["VM", size],
	["Fits", fits],
	["Copies", ({ copies }) => copies >= 1000 ? "1,000 or more" :
		text.count(copies)],
	["In words", ({ message }) => message || text.DASH],
];

const MAKING = [
	["State", ({ state }) => stateWords(state)],
	["Priority", ({ priority }) => text.count(priority)],
	["Node", ({ node }) => node ?? text.DASH],
	["Since", ({ since }) => text.distance(since)],
	["Place held", ({ holdsThePlace }) => holdsThePlace ? "yes" : "no"],
	["Moves", ({ moves }) => (moves ?? []).map((m) =>
		`${m.source} to ${m.target}: ${stateWords(m.state)}`)
		.join("; ") || text.DASH],
	["Plan", ({ plan }) => plan || text.DASH],
	["Waits for", ({ why }) => why || text.DASH],
];

function kindPanel(kind, at) {
	const id = `kind-${at}`;

	return el("section", { class: "panel", "aria-labelledby": id },
		el("h2", { id, text: kind.kind }),
		!kind.offered ? el("p", { class: "note", text: kind.message }) : [
			facts([["Largest now", largest(kind.largestNow)],
				["Largest after moves",
					largest(kind.largestAfterMoves)]]),
			kind.cutOff && el("p", { class: "note", text:
				"The search was cut off: a larger VM may fit." }),
			table(`room-${kind.kind}`, `Shapes of ${kind.kind} VMs`,
				SHAPE, kind.shapes ?? []),
		]);
}

function makingPanel(making) {
	const items = making ?? [];

	return el("section", { class: "panel", "aria-labelledby": "making" },
		el("h2", { id: "making", text: "Making room" }),
		items.length === 0 ?
			el("p", { class: "note", text: "No pod waits for room." }) :
			table("room-making", "Pods for which room is made",
				MAKING, items));
}

function content(room) {
	const of = room.fits;

	return [
		el("p", { class: "summary" }, `Making room: mode ` +
			`${room.effectiveMode ?? room.mode ?? text.DASH}. ` +
			(room.why ? `${room.why}.` : "Moves may be ordered.")),
		makingPanel(room.making),
		of === undefined || of === null ? alertLine(room.fitsError ??
			"The scheduler does not say which VMs fit.") : [
			el("p", { class: "note" }, `${text.count(of.nodes)} nodes ` +
				`and ${text.count(of.vms)} running VMs were looked ` +
				`at ${text.seconds(of.ageS ?? of.ageSeconds)} ago; ` +
				`at most ${of.maxMoves} moves.`),
			el("div", { class: "panels wide" },
				(of.kinds ?? []).map(kindPanel)),
		],
	];
}

export function showRoom({ main, signal, ready }) {
	const where = el("div", { class: "stack" });

	replace(main, el("h1", { text: "Room" }), where);
	followOutlook((status) => {
		answered();
		replace(where, status.room === undefined ?
			el("p", { class: "summary", text: "The scheduler looks " +
				"for no room: --rebalance and --make-room are " +
				"off." }) :
			content(status.room));
		ready();
	}, (error) => {
		replace(where, alertLine(error.message));
		ready();
	}, signal);
}
