// One node: its figures, its history, its VMs with the worst first, and the
// decisions and moves about it.

import { get } from "./api.js";
import { legend, paintBar } from "./bars.js";
import { alertLine, el, facts, replace } from "./dom.js";
import { Grid } from "./grid.js";
import { History } from "./history.js";
import { follow } from "./live.js";
import { Marks } from "./marks.js";
import { followOutlook } from "./outlook.js";
import * as text from "./text.js";
import { getVms, VM_COLUMNS, vmClass, vmId } from "./vms.js";

const PLOTS = [
	{ title: "CPU", series: [
		{ key: "cpu.used_cores", label: "used cores", kind: "cores",
			fields: ["cpu.used_cores"] },
		{ key: "cpu.used_cores_max", label: "highest", kind: "cores",
			fields: ["cpu.used_cores_max"] },
		{ key: "cpu.cores", label: "CPUs", kind: "cores",
			fields: ["cpu.cores"] } ] },
	{ title: "Waiting", series: [
		{ key: "cpu.contention", label: "contention", kind: "time_share",
			fields: ["cpu.contention"] },
		{ key: "memory.pressure_full", label: "memory",
			kind: "time_share", fields: ["memory.pressure_full"] },
		{ key: "io.pressure_full", label: "I/O", kind: "time_share",
			fields: ["io.pressure_full"] } ] },
	{ title: "Memory", series: [
		{ key: "memory.used_bytes", label: "used", kind: "bytes",
			fields: ["memory.total_bytes", "memory.available_bytes"],
			of: (total, available) => total - available },
		{ key: "memory.working_set_bytes", label: "VMs", kind: "bytes",
			fields: ["memory.working_set_bytes"] },
		{ key: "memory.total_bytes", label: "all", kind: "bytes",
			fields: ["memory.total_bytes"] } ] },
];

function bar(shares) {
	const cell = el("div", { class: "bar-line" });

	paintBar(cell, shares);
	return cell;
}

function shareOf(part, whole) {
	return part / whole;
}

function cpuFacts(cpu, believed) {
	const of = (cores) => text.isKnown(cores) ?
		`${text.cores(cores)} cores` : text.DASH;

	return el("section", { class: "panel", "aria-labelledby": "cpu" },
		el("h2", { id: "cpu", text: "CPU" }),
		bar({ used: shareOf(cpu.usedCores10s, cpu.cores),
			requested: shareOf(believed?.requestedCores, cpu.cores),
			expected: shareOf(believed?.expectedCores, cpu.cores) }),
		facts([
			["Used of all", `${text.cores(cpu.usedCores10s)} of ` +
				of(cpu.cores)],
			["Requested", of(believed?.requestedCores)],
			["Expected", of(believed?.expectedCores)],
			["Mean of 5 min", of(cpu.usedCores5m)],
			["Mean of 1 h", of(cpu.usedCores1h)],
			["p95 of 1 h", of(cpu.p95Cores1h)],
			["p95 of 1 d", of(cpu.p95Cores1d)],
			["Contention", text.finePercent(cpu.contention)],
		]));
}

function memoryFacts(memory, believed) {
	const used = memory.totalBytes - memory.availableBytes;

	return el("section", { class: "panel", "aria-labelledby": "memory" },
		el("h2", { id: "memory", text: "Memory" }),
		bar({ used: shareOf(used, memory.totalBytes),
			requested: shareOf(believed?.requestedBytes,
				memory.totalBytes),
			expected: shareOf(believed?.expectedBytes,
				memory.totalBytes) }),
		facts([
			["Used of all", `${text.bytes(used)} of ` +
				text.bytes(memory.totalBytes)],
			["Requested", text.bytes(believed?.requestedBytes)],
			["Expected", text.bytes(believed?.expectedBytes)],
			["VMs' working set", text.bytes(memory.workingSetBytes)],
			["All tasks wait", text.finePercent(
				memory.pressureFull60s)],
			["Swap in", Number.isFinite(memory.swapInBytes60s) ?
				`${text.bytes(memory.swapInBytes60s)}/s` :
				text.DASH],
		]));
}

function otherFacts(status, believed) {
	const pages = (status.hugepages ?? []).filter((p) => p.total > 0)
		.map((p) => [`Huge pages of ${text.bytes(p.sizeBytes)}`,
			`${text.count(p.free)} of ${text.count(p.total)} free`]);
	const isBad = !["Ok", "Unverified"].includes(status.kvm?.state);

	return el("section", { class: "panel", "aria-labelledby": "other" },
		el("h2", { id: "other", text: "I/O, KVM, VMs" }),
		facts([
			["All tasks wait for I/O", text.finePercent(
				status.io?.pressureFull60s)],
			["KVM", el("span", { class: isBad ? "bad" : "",
				text: [status.kvm?.state, status.kvm?.detail]
					.filter(Boolean).join(": ") || text.DASH })],
			["VMs", text.count(status.vmCount)],
			["Figures", `${status.state ?? text.DASH}, ` +
				`${text.seconds(status.ageSeconds)} old`],
			["Scheduling", believed === undefined ? text.DASH :
				believed.isUnschedulable ? "cordoned" : "open"],
			...pages,
		]));
}

function headline({ status }) {
	return status.state === "Lost" ?
		"Lost: the node does not report. The figures are its last ones." :
		`${status.state ?? text.DASH}. Hottest: ` +
			`${status.hottest ?? text.DASH}, ` +
			`${text.percent(status.heat)}.`;
}

export function showNode({ main, path, params, signal, ready }) {
	const name = path[1];
	const problem = el("div", { class: "problem" });
	const line = el("p", { class: "summary" });
	const note = el("p", { class: "note", hidden: true });
	const panels = el("div", { class: "panels" });
	let node = null;
	let believed;

	const paint = () => {
		if (node === null) {
			return;
		}
		const { status } = node;

		line.textContent = text.shown(headline(node));
		line.className = `summary ${status.state === "Fresh" ? "" :
			status.state === "Lost" ? "bad" : "warn"}`;
		replace(panels, cpuFacts(status.cpu ?? {}, believed?.cpu),
			memoryFacts(status.memory ?? {}, believed?.memory),
			otherFacts(status, believed));
	};
	const marks = new Marks({ path: [], signal,
		decisions: [`status.chosen=${name}`],
		moves: [`spec.sourceNode=${name}`, `spec.targetNode=${name}`],
		changed: () => history.redraw() });
	const history = new History({ path: ["nodeloads", name], params, signal,
		name: "node", plots: PLOTS, marks: () => marks.marks });
	const grid = vmsOf(name, params, signal);

	replace(main, el("h1", { text: name }), problem,
		el("div", { class: "row" }, line, legend(), note), panels,
		history.element, grid, marks.element);
	follow({ signal,
		ask: (more) => get(["nodeloads"], { ...more,
			fieldSelector: `metadata.name=${name}` }, signal),
		show: ({ items }) => {
			node = items?.[0] ?? null;
			replace(problem, node === null && alertLine(
				"No node of this name reports now. The history " +
				"of a node that left is below."));
			paint();
			ready();
		},
		fail: (error) => {
			replace(problem, alertLine(error.message));
			ready();
		} });
	followOutlook((status) => {
		believed = (status.nodes ?? []).find((n) => n.name === name);
		note.hidden = true;
		paint();
	}, (error) => {
		note.textContent = "Requested and expected are not known: " +
			`${text.shown(error.message)}.`;
		note.hidden = false;
	}, signal);
}

// The table of a node's VMs.
function vmsOf(name, params, signal) {
	const problem = el("div", { class: "problem" });
	const grid = new Grid({ name: "node-vms", caption: "VMs of the node",
		title: "VMs, worst first", sort: "-waiting", isMain: true,
		columns: VM_COLUMNS.filter((c) => c.key !== "spec.nodeName"),
		params, idOf: vmId, rowClass: vmClass });

	signal.addEventListener("abort", () => grid.close());
	follow({ signal,
		ask: (more) => getVms([], { ...more,
			fieldSelector: `spec.nodeName=${name}` }, signal),
		show: (rows) => {
			replace(problem);
			grid.setRows(rows);
		},
		fail: (error) => replace(problem, alertLine(error.message)) });
	return el("div", null, problem, grid.element);
}
