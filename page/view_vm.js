// One VM: how it waits, why it is where it is, and whether it can move.

import { get } from "./api.js";
import { alertLine, el, facts, replace } from "./dom.js";
import { History } from "./history.js";
import { follow, repeat } from "./live.js";
import { Marks } from "./marks.js";
import { link } from "./state.js";
import * as text from "./text.js";

const EVERY_MS = 30000;

const PLOTS = [
	{ title: "Waiting for CPU", series: [
		{ key: "contention", label: "contention", kind: "time_share",
			fields: ["contention"] },
		{ key: "contention_max", label: "highest", kind: "time_share",
			fields: ["contention_max"] } ] },
	{ title: "CPU", series: [
		{ key: "used_cores", label: "used cores", kind: "cores",
			fields: ["used_cores"] },
		{ key: "used_cores_max", label: "highest", kind: "cores",
			fields: ["used_cores_max"] } ] },
	{ title: "Memory", series: [
		{ key: "memory_bytes", label: "anonymous, shared, huge pages",
			kind: "bytes", fields: ["memory_bytes"] },
		{ key: "working_set_bytes", label: "working set", kind: "bytes",
			fields: ["working_set_bytes"] } ] },
];

// A VM that reports its CPUs leaves out what is next to 0.
function orZero(status, value) {
	return value ?? (status.usedCores === undefined ? undefined : 0);
}

function reachText(nodes) {
	return nodes === undefined ? text.DASH : nodes === 0 ? "no other node" :
		`${text.count(nodes)} other node${nodes === 1 ? "" : "s"}`;
}

function loadPanel({ spec, status }) {
	const other = status.pods?.[1]?.nodeName;

	return el("section", { class: "panel", "aria-labelledby": "load" },
		el("h2", { id: "load", text: "Now" }),
		facts([
			["Node", el("a", { href: link(["nodes", spec.nodeName]),
				text: spec.nodeName })],
			["Moves to", other === undefined ? text.DASH :
				el("a", { href: link(["nodes", other]),
					text: other })],
			["Contention", text.finePercent(status.contention)],
			["Waits for memory", text.finePercent(orZero(status,
				status.memoryPressure))],
			["Waits for I/O", text.finePercent(orZero(status,
				status.ioPressure))],
			["Used cores", text.cores(status.usedCores)],
			["Mean of 5 min", text.cores(status.usedCores5m)],
			["Memory", text.bytes(status.memoryBytes)],
			["Swap", text.bytes(orZero(status, status.swapBytes))],
			["Can reach", reachText(status.reachableNodes)],
			["Figures", `${status.state ?? text.DASH}, ` +
				`${text.seconds(status.ageSeconds)} old`],
		]));
}

function whyPanel(decision) {
	const rows = decision === undefined ? [] : [
		["When", `${text.timeText(decision.ms / 1000)} UTC`],
		["Chosen", decision.chosen || text.DASH],
		["Runner-up", decision.runnerUp || text.DASH],
		["Decided by", decision.decidedBy || text.DASH],
		["Points ahead", text.decimal(decision.margin)],
		["Details", el("a", { href: link(["decisions",
			decision.namespace, decision.name]) },
		"the decision")],
	];

	return el("section", { class: "panel", "aria-labelledby": "why" },
		el("h2", { id: "why", text: "Why it is there" }),
		el("p", { class: "sentence", text: decision?.sentence ??
			"No decision about this VM is kept." }), facts(rows));
}

// outlook: { isMovable, reason }, or a sentence why there is none. The reason
// follows the VM's name; isMovable is missing if KubeVirt does not tell.
function movePanel(outlook, name) {
	const isKnown = typeof outlook?.isMovable === "boolean";
	const words = typeof outlook === "string" ? outlook :
		!isKnown ? `Not known: ${outlook?.reason || "no answer"}.` :
		outlook.isMovable ? "Yes, it can move." :
		`No: ${name} ${outlook.reason || "may not move"}.`;

	return el("section", { class: "panel", "aria-labelledby": "can-move" },
		el("h2", { id: "can-move", text: "Can it move?" }),
		el("p", { class: !isKnown ? "note" : outlook.isMovable ? "good" :
			"bad", text: words }));
}

function followOutlook(path, show, signal) {
	repeat({ signal, everyMs: EVERY_MS,
		ask: async () => {
			const { status } = await get([...path, "outlook"], null,
				signal);

			show(status);
		},
		fail: (error) => show(`Not known: ${error.message}.`) });
}

export function showVm({ main, path, params, signal, ready }) {
	const [, namespace, name] = path;
	const space = ["namespaces", namespace];
	const problem = el("div", { class: "problem" });
	const load = el("div");
	const why = el("div", null, whyPanel());
	const move = el("div", null, movePanel("Asking the scheduler."));
	const marks = new Marks({ path: space, signal,
		decisions: [`spec.vmName=${name}`],
		moves: [`spec.vmName=${name}`],
		changed: () => {
			replace(why, whyPanel(marks.lastDecision));
			history.redraw();
		} });
	const history = new History({ path: [...space, "vmloads", name], params,
		signal, name: "vm", plots: PLOTS, marks: () => marks.marks });

	replace(main, el("h1", { text: name ?? namespace }),
		el("p", { class: "note", text: `VM in namespace ${namespace}` }),
		problem, el("div", { class: "panels" }, load, why, move),
		history.element, marks.element);
	follow({ signal,
		ask: (more) => get([...space, "vmloads"], { ...more,
			fieldSelector: `metadata.name=${name}` }, signal),
		show: ({ items }) => {
			replace(problem, items?.length > 0 ? null : alertLine(
				"This VM does not run now. Its history is below."));
			replace(load, items?.length > 0 && loadPanel(items[0]));
			ready();
		},
		fail: (error) => {
			replace(problem, alertLine(error.message));
			ready();
		} });
	followOutlook([...space, "vmloads", name],
		(outlook) => replace(move, movePanel(outlook, name)), signal);
}
