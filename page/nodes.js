// The figures of nodes as columns.

import { getColumns } from "./api.js";
import { NONE, numberAt, numbers, textAt } from "./decode.js";

const FIELDS = [
	"metadata.name", "status.state", "status.ageSeconds", "status.hottest",
	"status.heat", "status.vmCount", "status.cpu.cores",
	"status.cpu.usedCores10s", "status.cpu.usedCores5m",
	"status.cpu.contention", "status.memory.totalBytes",
	"status.memory.availableBytes", "status.memory.pressureFull60s",
	"status.io.pressureFull60s", "status.kvm.state",
];

// Adds columns that are computed. The figures of a lost node are too old to
// call it hot.
function derive(rows) {
	const col = (name) => rows.col[`status.${name}`];
	const at = (name, i) => numberAt(col(name), i);
	const lost = col("state").values?.indexOf("Lost") ?? -1;
	const isLost = (i) => lost >= 0 && col("state").codes[i] === lost;

	rows.col.heat = numbers(rows.count,
		(i) => isLost(i) ? NaN : at("heat", i));
	rows.col.hottest = { values: col("hottest").values ?? [],
		codes: Uint32Array.from({ length: rows.count }, (_, i) =>
			isLost(i) ? NONE : col("hottest").codes?.[i] ?? NONE) };
	rows.col.cpu = numbers(rows.count,
		(i) => at("cpu.usedCores10s", i) / at("cpu.cores", i));
	rows.col.memory = numbers(rows.count,
		(i) => 1 - at("memory.availableBytes", i) /
			at("memory.totalBytes", i));
	return rows;
}

export async function getNodes(params, signal) {
	return derive(await getColumns(["nodeloads"], FIELDS, params, signal));
}

export const BELIEVED = ["cpuRequested", "cpuExpected", "memoryRequested",
	"memoryExpected"];

// Adds what the scheduler believes. outlook: its nodes by name, a Map.
export function addOutlook(rows, outlook) {
	const shareOf = {
		cpuRequested: (n) => n.cpu?.requestedCores / n.cpu?.cores,
		cpuExpected: (n) => n.cpu?.expectedCores / n.cpu?.cores,
		memoryRequested: (n) =>
			n.memory?.requestedBytes / n.memory?.totalBytes,
		memoryExpected: (n) =>
			n.memory?.expectedBytes / n.memory?.totalBytes,
	};
	const names = rows.col["metadata.name"];
	const known = Array.from({ length: rows.count },
		(_, i) => outlook.get(textAt(names, i)));

	for (const name of BELIEVED) {
		rows.col[name] = numbers(rows.count, (i) =>
			known[i] === undefined ? NaN : shareOf[name](known[i]));
	}
	rows.col.cordoned = numbers(rows.count, (i) =>
		known[i]?.isUnschedulable ? 1 : NaN);
}
