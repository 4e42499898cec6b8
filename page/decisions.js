// Decisions and moves as the page keeps them.

import { numbers, texts } from "./decode.js";
import { milliseconds } from "./text.js";

export function compactDecision({ metadata, spec, status }) {
	const best = status.best ?? [];
	const second = best.find((one) => one.node !== status.chosen);

	return { id: `${metadata.namespace}/${metadata.name}`,
		namespace: metadata.namespace, name: metadata.name,
		ms: milliseconds(status.time), vm: spec?.vmName ?? "",
		pod: spec?.podName ?? "", chosen: status.chosen ?? "",
		runnerUp: status.chosen ? second?.node ?? "" : "",
		margin: status.margin, decidedBy: status.decidedBy ?? "",
		decidedPoints: status.decidedPoints,
		feasible: status.feasible, nodes: status.nodes,
		sentence: status.sentence ?? "" };
}

export function compactMove({ metadata, spec, status }) {
	return { ...status, id: `${metadata.namespace}/${metadata.name}`,
		namespace: metadata.namespace, name: metadata.name,
		ms: milliseconds(status.time), vm: spec?.vmName ?? "",
		source: spec?.sourceNode ?? "", target: spec?.targetNode ?? "",
		reason: spec?.reason ?? "", roomFor: spec?.roomFor ?? "" };
}

// Columns (decode.js) of objects. names: [member, ...] of figures and texts.
export function columnsOf(items, { figures, words }) {
	const col = {};

	for (const name of figures) {
		col[name] = numbers(items.length, (i) => items[i][name]);
	}
	for (const name of words) {
		col[name] = texts(items.length, (i) => items[i][name]);
	}
	return { count: items.length, col };
}
