// The figures of VMs as columns, and the table of VMs.

import { getColumns } from "./api.js";
import { waitClass } from "./bars.js";
import { NONE, numberAt, numbers, textAt } from "./decode.js";
import { link } from "./state.js";

const FIELDS = [
	"metadata.namespace", "metadata.name", "spec.nodeName", "status.state",
	"status.ageSeconds", "status.usedCores", "status.usedCores5m",
	"status.memoryBytes", "status.contention", "status.memoryPressure",
	"status.ioPressure", "status.swapBytes", "status.reachableNodes",
];

const WAITS = ["contention", "memoryPressure", "ioPressure"];
const FOR = ["cpu", "io", "memory"]; // in order, as decode.js wants it
const FOR_CODE = [0, 2, 1];
const LEAST_WAIT = 0.01; // below, a VM waits for nothing

// A VM that reports its CPUs leaves out what is next to 0.
function fillZeros(rows, name) {
	const column = rows.col[`status.${name}`];
	const used = rows.col["status.usedCores"];

	rows.col[name] = numbers(rows.count, (i) => {
		const value = numberAt(column, i);

		return Number.isNaN(value) && !Number.isNaN(numberAt(used, i)) ?
			0 : value;
	});
}

function derive(rows) {
	const { count, col } = rows;
	const waits = [col["status.contention"]];
	const waiting = new Float64Array(count);
	const codes = new Uint32Array(count).fill(NONE);

	["memoryPressure", "ioPressure", "swapBytes"].forEach((name) =>
		fillZeros(rows, name));
	waits.push(col.memoryPressure, col.ioPressure);
	for (let i = 0; i < count; i++) {
		waiting[i] = NaN;
		for (let w = 0; w < WAITS.length; w++) {
			const share = numberAt(waits[w], i);

			if (share >= 0 && !(share <= waiting[i])) {
				waiting[i] = share;
				codes[i] = share >= LEAST_WAIT ? FOR_CODE[w] :
					NONE;
			}
		}
	}
	col.waiting = { data: waiting };
	col.waitsFor = { values: FOR, codes };
	return rows;
}

// params: also fieldSelector.
export async function getVms(path, params, signal) {
	return derive(await getColumns([...path, "vmloads"], FIELDS, params,
		signal));
}

export const vmName = (rows, i) => textAt(rows.col["metadata.name"], i);
export const vmSpace = (rows, i) => textAt(rows.col["metadata.namespace"], i);
export const vmId = (rows, i) => `${vmSpace(rows, i)}/${vmName(rows, i)}`;

export const VM_COLUMNS = [
	{ key: "metadata.name", label: "VM", kind: "text", isHead: true,
		href: (rows, i) => vmName(rows, i) === "" ? "" :
			link(["vms", vmSpace(rows, i), vmName(rows, i)]) },
	{ key: "metadata.namespace", label: "Namespace", kind: "text",
		width: 130 },
	{ key: "spec.nodeName", label: "Node", kind: "text", width: 130,
		title: "Node of the VM; while it moves, the one it leaves",
		href: (rows, i) => link(["nodes",
			textAt(rows.col["spec.nodeName"], i)]) },
	{ key: "waiting", label: "Waiting", kind: "time_share", width: 98,
		title: "The largest of contention, memory wait and I/O wait",
		mark: (rows, i) => waitClass(rows.col.waiting.data[i]) },
	{ key: "waitsFor", label: "For", kind: "text", width: 82,
		title: "The resource that the VM waits for most, from 1 %" },
	{ key: "status.contention", label: "Contention", kind: "time_share",
		width: 104, title: "Share of time in which the VM waited for CPU" },
	{ key: "memoryPressure", label: "Mem wait", kind: "time_share",
		width: 94, title: "Share of a minute waiting for memory" },
	{ key: "ioPressure", label: "I/O wait", kind: "time_share", width: 84,
		title: "Share of a minute waiting for I/O" },
	{ key: "status.usedCores", label: "Cores", kind: "cores", width: 76,
		title: "CPUs in use over the last interval" },
	{ key: "status.usedCores5m", label: "5 min", kind: "cores", width: 74,
		title: "CPUs in use, mean of 5 min" },
	{ key: "status.memoryBytes", label: "Memory", kind: "bytes", width: 90,
		title: "Anonymous memory, shared memory and huge pages" },
	{ key: "swapBytes", label: "Swap", kind: "bytes", width: 76,
		title: "Memory of the VM in swap" },
	{ key: "status.reachableNodes", label: "Reach", kind: "count",
		width: 74, title: "Other nodes that could take the VM if they " +
			"were empty",
		mark: (rows, i) => numberAt(rows.col["status.reachableNodes"],
			i) === 0 ? "warn" : "" },
	{ key: "status.state", label: "State", kind: "text", width: 74,
		mark: () => "state" },
	{ key: "status.ageSeconds", label: "Age", kind: "seconds", width: 62,
		title: "Age of the newest sample" },
];

export function vmClass(rows, i) {
	return textAt(rows.col["status.state"], i).toLowerCase();
}
