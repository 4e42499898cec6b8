// All VMs: which of them wait, now and over the last hour. Histories have the
// contention only, so the plot shows the VMs that wait most for CPU.

import { get } from "./api.js";
import { numberAt, numbers, texts } from "./decode.js";
import { alertLine, el, replace } from "./dom.js";
import { Grid } from "./grid.js";
import { follow, repeat } from "./live.js";
import { Plot } from "./plot.js";
import { sortRows } from "./sort.js";
import { link } from "./state.js";
import { count, milliseconds, timeText } from "./text.js";
import { getVms, VM_COLUMNS, vmClass, vmId, vmName, vmSpace } from "./vms.js";

const WORST = 5;
const LONG_LIST = 5000; // from here on updates come each 15 s
const EVERY_MS = 60000;

function worstOf(rows) {
	const all = Uint32Array.from({ length: rows.count }, (_, i) => i);

	const contention = rows.col["status.contention"];

	return [...sortRows(all, contention, true).subarray(0, WORST)]
		.filter((i) => numberAt(contention, i) > 0 &&
			vmName(rows, i) !== "")
		.map((i) => ({ namespace: vmSpace(rows, i),
			name: vmName(rows, i) }));
}

// "12 of 30,000 VMs wait more than 5 % of the time: 8 for cpu, 4 for io."
function summary(rows) {
	const waiting = rows.col.waiting.data;
	const why = rows.col.waitsFor;
	const counts = why.values.map(() => 0);
	let all = 0;

	for (let i = 0; i < rows.count; i++) {
		if (waiting[i] >= 0.05) {
			all++;
			counts[why.codes[i]]++;
		}
	}
	const parts = why.values.map((value, at) =>
		`${count(counts[at])} for ${value}`);

	return `${count(all)} of ${count(rows.count)} VMs wait 5 % of the ` +
		`time or more: ${parts.join(", ")}.`;
}

// The contention of the VMs that wait most, from their histories.
class Worst {
	constructor(signal) {
		this.signal = signal;
		this.vms = [];
		this.where = el("div");
		this.list = el("p", { class: "note" });
		this.element = el("section", { class: "panel",
			"aria-labelledby": "worst" },
		el("h2", { id: "worst", text: "The VMs that wait most for CPU, " +
			"over the last hour" }), this.list, this.where);
		this.element.hidden = true;
	}

	run(vms) {
		this.vms = vms;
		if (vms.length === 0) {
			return;
		}
		repeat({ signal: this.signal, everyMs: EVERY_MS,
			ask: async () => this.show(await Promise.all(
				vms.map((vm) => this.ask(vm)))),
			fail: (error) => {
				replace(this.list, error.message);
				this.element.hidden = false;
			} });
	}

	ask({ namespace, name }) {
		return get(["namespaces", namespace, "vmloads", name, "history"],
			{ fields: "contention", step: 30 }, this.signal);
	}

	build() {
		const columns = [{ key: "time", label: "Time (UTC)",
			kind: "text", width: 176, isHead: true },
		...this.vms.map(({ name }, at) => ({ key: `vm${at}`,
			label: name, kind: "time_share", width: 120 }))];

		this.plot = new Plot({ title: "Contention", signal: this.signal,
			series: this.vms.map(({ name }) => ({ label: name,
				kind: "time_share" })),
			zoom: (from, to) => this.plot.show(this.rows, [from, to]),
			reset: () => this.plot.show(this.rows, this.window) });
		this.grid = new Grid({ name: "worst-vms", columns,
			caption: "Contention of these VMs", sort: "-time",
			hasFilter: false });
		this.signal.addEventListener("abort", () => this.grid.close());
		replace(this.list, this.vms.map(({ namespace, name }, at) => [
			at === 0 ? "" : ", ", el("a", { text: name,
				href: link(["vms", namespace, name]) })]));
		replace(this.where, el("div", { class: "beside" },
			this.plot.element, this.grid.element));
		this.element.hidden = false;
	}

	show(histories) {
		const times = new Map();

		histories.forEach(({ rows }, at) => {
			for (const [time, value] of rows) {
				const row = times.get(time) ?? [milliseconds(time),
					...histories.map(() => null)];

				row[at + 1] = value;
				times.set(time, row);
			}
		});
		this.rows = [...times.values()].sort((a, b) => a[0] - b[0]);
		this.window = [Date.now() - 3600000, Date.now()];
		if (this.plot === undefined) {
			this.build();
		}
		this.plot.show(this.rows, this.window);
		const col = { time: texts(this.rows.length,
			(i) => timeText(this.rows[i][0] / 1000)) };

		histories.forEach((_, at) => {
			col[`vm${at}`] = numbers(this.rows.length,
				(i) => this.rows[i][at + 1]);
		});
		this.grid.setRows({ count: this.rows.length, col });
	}
}

export function showVms({ main, params, signal, ready }) {
	const grid = new Grid({ name: "vms", caption: "VMs", title: "All VMs",
		columns: VM_COLUMNS, sort: "-waiting", isMain: true, params,
		idOf: vmId, rowClass: vmClass });
	const worst = new Worst(signal);
	const line = el("p", { class: "summary" });
	const problem = el("div", { class: "problem" });
	let rows = null;

	grid.element.classList.add("tall");
	replace(main, el("h1", { text: "VMs" }), problem, line, grid.element,
		worst.element);
	signal.addEventListener("abort", () => grid.close());
	follow({ signal,
		betweenMs: () => rows !== null && rows.count > LONG_LIST ?
			15000 : 0,
		ask: (more) => getVms([], more, signal),
		show: (answer) => {
			const isFirst = rows === null;

			rows = answer;
			replace(problem);
			line.textContent = summary(rows);
			grid.setRows(rows);
			ready();
			if (isFirst) {
				worst.run(worstOf(rows));
			}
		},
		fail: (error) => {
			replace(problem, alertLine(error.message));
			ready();
		} });
}
