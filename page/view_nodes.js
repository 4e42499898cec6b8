// All nodes: which is hot, and by which resource.

import { legend, level, paintBar, waitClass } from "./bars.js";
import { Buckets } from "./buckets.js";
import { numberAt, textAt } from "./decode.js";
import { alertLine, el, replace } from "./dom.js";
import { Grid } from "./grid.js";
import { follow } from "./live.js";
import { addOutlook, getNodes } from "./nodes.js";
import { followOutlook } from "./outlook.js";
import { link } from "./state.js";
import { percent, shown } from "./text.js";

const nameOf = (rows, i) => textAt(rows.col["metadata.name"], i);

function barOf(resource) {
	return (td, rows, i) => paintBar(td, {
		used: rows.col[resource].data[i],
		requested: numberAt(rows.col[`${resource}Requested`], i),
		expected: numberAt(rows.col[`${resource}Expected`], i),
	});
}

const MARKS = { hot: "bad", warm: "warn", cool: "", none: "" };

const waits = (key) => (rows, i) => waitClass(numberAt(rows.col[key], i));

function hidden(key, label, kind) {
	return { key, label, kind, isHidden: true };
}

export const NODE_COLUMNS = [
	{ key: "metadata.name", label: "Node", kind: "text", isHead: true,
		href: (rows, i) => link(["nodes", nameOf(rows, i)]) },
	{ key: "status.state", label: "State", kind: "text", width: 76,
		mark: () => "state",
		title: "Fresh, Stale: older than three intervals, Lost: five minutes" },
	{ key: "hottest", label: "Hottest", kind: "text", width: 88,
		title: "The resource with the largest share in use" },
	{ key: "heat", label: "Heat", kind: "share", width: 78,
		title: "The share of the hottest resource",
		mark: (rows, i) => MARKS[level(rows.col.heat.data[i])] },
	{ key: "cpu", label: "CPU", kind: "share", width: 190, isLeft: true,
		title: "CPUs in use, mean of 10 s; requested; expected",
		paint: barOf("cpu") },
	{ key: "status.cpu.contention", label: "Contention", kind: "time_share",
		width: 104, title: "Share of time in which VMs waited for CPU",
		mark: waits("status.cpu.contention") },
	{ key: "memory", label: "Memory", kind: "share", width: 190,
		isLeft: true, title: "Memory in use; requested; expected",
		paint: barOf("memory") },
	{ key: "status.memory.pressureFull60s", label: "Mem wait",
		kind: "time_share", width: 100,
		title: "Share of a minute in which all tasks waited for memory",
		mark: waits("status.memory.pressureFull60s") },
	{ key: "status.io.pressureFull60s", label: "I/O wait",
		kind: "time_share", width: 84,
		title: "Share of a minute in which all tasks waited for I/O",
		mark: waits("status.io.pressureFull60s") },
	{ key: "status.kvm.state", label: "KVM", kind: "text", width: 92,
		title: "What the last test of KVM found",
		mark: (rows, i) => ["Ok", "Unverified", ""].includes(
			textAt(rows.col["status.kvm.state"], i)) ? "" : "bad" },
	{ key: "status.vmCount", label: "VMs", kind: "count", width: 60,
		title: "VM pods on the node" },
	{ key: "status.ageSeconds", label: "Age", kind: "seconds", width: 64,
		title: "Age of the newest sample" },
	hidden("cpuRequested", "CPU requested", "share"),
	hidden("cpuExpected", "CPU expected", "share"),
	hidden("memoryRequested", "Memory requested", "share"),
	hidden("memoryExpected", "Memory expected", "share"),
	hidden("cordoned", "Cordoned", "count"),
	hidden("status.cpu.cores", "Cores", "cores"),
	hidden("status.cpu.usedCores10s", "Used cores", "cores"),
	hidden("status.memory.totalBytes", "Memory bytes", "bytes"),
	hidden("status.memory.availableBytes", "Available bytes", "bytes"),
];

export function nodeClass(rows, i) {
	return textAt(rows.col["status.state"], i).toLowerCase();
}

// "Hottest: node-7, cpu 97 %. 990 fresh, 6 stale, 4 lost."
function summary(rows) {
	const heat = rows.col.heat.data;
	const states = { Fresh: 0, Stale: 0, Lost: 0 };
	let top = -1;

	for (let i = 0; i < rows.count; i++) {
		states[textAt(rows.col["status.state"], i)]++;
		if (heat[i] > (top < 0 ? -1 : heat[top])) {
			top = i;
		}
	}
	const hottest = top < 0 ? ["No figure of a node is known."] :
		["Hottest: ", el("a", { href: link(["nodes", nameOf(rows, top)]),
			text: nameOf(rows, top) }),
		`, ${shown(textAt(rows.col.hottest, top))} ` +
			`${percent(heat[top])}.`];

	return [...hottest, ` ${states.Fresh} fresh, ${states.Stale} stale, ` +
		`${states.Lost} lost.`];
}

export function showNodes({ main, params, signal, ready }) {
	const grid = new Grid({ name: "nodes", caption: "Nodes", params,
		title: "All nodes", columns: NODE_COLUMNS, sort: "-heat",
		isMain: true, idOf: nameOf, rowClass: nodeClass });
	const buckets = new Buckets((filter) => grid.setFilter(filter));
	const line = el("p", { class: "summary" });
	const note = el("p", { class: "note", hidden: true });
	const problem = el("div");
	let outlook = new Map();
	let rows = null;

	const paint = () => {
		addOutlook(rows, outlook);
		grid.setRows(rows);
	};

	grid.element.classList.add("tall");
	replace(main, el("h1", { text: "Nodes" }), problem, line,
		buckets.element, el("div", { class: "row" }, legend(), note),
		grid.element);
	signal.addEventListener("abort", () => grid.close());
	follow({ signal,
		ask: (more) => getNodes(more, signal),
		show: (answer) => {
			rows = answer;
			replace(problem);
			replace(line, ...summary(rows));
			buckets.show(rows.col.heat.data);
			paint();
			ready();
		},
		fail: (error) => {
			replace(problem, alertLine(error.message));
			ready();
		} });
	followOutlook((status) => {
		outlook = new Map((status.nodes ?? []).map((n) => [n.name, n]));
		note.hidden = true;
		if (rows !== null) {
			paint();
		}
	}, (error) => {
		note.textContent = "Requested and expected are not known: " +
			`${shown(error.message)}.`;
		note.hidden = false;
	}, signal);
}
