// How plimsoll itself is: the status of the aggregator that answers.

import { get } from "./api.js";
import { alertLine, el, facts, replace } from "./dom.js";
import { follow } from "./live.js";
import * as text from "./text.js";

const SOON_DAYS = 14; // a certificate that ends earlier is marked

function panel(id, title, ...children) {
	return el("section", { class: "panel", "aria-labelledby": id },
		el("h2", { id, text: title }), children);
}

function lines(rows) {
	const list = facts(rows);

	list.classList.add("lines");
	return list;
}

function state(word, isGood, isBad) {
	return el("span", { class: isGood ? "good" : isBad ? "bad" : "warn",
		text: word ?? text.DASH });
}

function storePanel(store) {
	const part = store.databaseBytes / store.databaseMaxBytes;

	return panel("store", "Store", lines([
		["State", state(store.state, store.state === "Storing",
			store.state === "Degraded")],
		...(store.reason ? [["Reason", store.reason]] : []),
		["Database", store.databaseBytes === undefined ? text.DASH :
			`${text.bytes(store.databaseBytes)}` +
			(store.databaseMaxBytes > 0 ? ` of at most ` +
				text.bytes(store.databaseMaxBytes) : "")],
		...(part >= 0 ? [["Filled", el("progress", { max: 1,
			value: part, "aria-label": "Filled",
			title: text.percent(part) })]] : []),
	]));
}

function retentionPanel(store) {
	return panel("retention", "Retention", lines([
		["Reports", text.seconds(store.retentionRawSeconds)],
		["Minutes", text.seconds(store.retention1mSeconds)],
		["Hours", text.seconds(store.retention1hSeconds)],
	]));
}

function agentsPanel(agents, status) {
	return panel("agents", "Agents", lines([
		["Fresh", state(text.count(agents.fresh), true)],
		["Stale", state(text.count(agents.stale), agents.stale === 0)],
		["Lost", state(text.count(agents.lost), agents.lost === 0,
			true)],
		["Known VM pods", text.count(status.vmIdentities)],
		...others(agents, ["fresh", "stale", "lost"]),
	]));
}

function certificate(end) {
	const days = (text.milliseconds(end) - Date.now()) / 86400000;

	return Number.isNaN(days) ? text.DASH : state(
		`${text.timeText(end)} UTC, ` + (days < 0 ? "ended " : "") +
			text.distance(end), days >= SOON_DAYS, days < 3);
}

function certificatesPanel(certificates) {
	const names = { wire: "Agents and schedulers", https: "HTTP interface",
		api: "Kubernetes API" };

	return panel("certificates", "Certificates end", lines(
		Object.entries({ wire: undefined, https: undefined,
			api: undefined, ...certificates }).map(([name, end]) =>
			[names[name] ?? text.words(name), certificate(end)])));
}

function remotePanel(remote) {
	return panel("remote", "Remote write", lines([
		["On", remote.isOn === undefined ? text.DASH :
			remote.isOn ? "yes" : "no"],
		...(remote.isOn ? [["Reports that wait",
			text.count(remote.queuedReports)]] : []),
		...(remote.reason ? [["Reason", state(remote.reason, false,
			true)]] : []),
		...others(remote, ["isOn", "queuedReports", "reason"]),
	]));
}

function schedulerPanel({ scheduler, rebalance }) {
	return panel("scheduler", "Scheduler", lines([
		["Connected", scheduler?.isConnected === undefined ? text.DASH :
			state(scheduler.isConnected ? "yes" : "no",
				scheduler.isConnected)],
		["Rebalancing", rebalance?.mode ?? text.DASH],
		["Why nothing moves", rebalance?.why || text.DASH],
		...others(scheduler ?? {}, ["isConnected"]),
	]));
}

function versionPanel(status) {
	return panel("versions", "Versions", lines([
		["Aggregator", status.version ?? text.DASH],
		["Commit", status.commit ?? text.DASH],
		["Its clock", `${text.timeText(status.time)} UTC`],
	]));
}

// Members that this page does not know by name.
function others(object, known) {
	return Object.entries(object).filter(([name, value]) =>
		!known.includes(name) && typeof value !== "object")
		.map(([name, value]) => [text.words(name),
			/Bytes$/.test(name) ? text.bytes(value) :
			/Seconds$/.test(name) ? text.seconds(value) :
			String(value)]);
}

export function showHealth({ main, signal, ready }) {
	const problem = el("div", { class: "problem" });
	const where = el("div", { class: "panels" });

	replace(main, el("h1", { text: "Health" }), problem, where);
	follow({ signal,
		ask: (more) => get(["status", "plimsoll"], more, signal),
		show: ({ status }) => {
			replace(problem);
			replace(where, storePanel(status.store ?? {}),
				retentionPanel(status.store ?? {}),
				agentsPanel(status.agents ?? {}, status),
				certificatesPanel(status.certificates ?? {}),
				remotePanel(status.remoteWrite ?? {}),
				schedulerPanel(status), versionPanel(status));
			ready();
		},
		fail: (error) => {
			replace(problem, alertLine(error.message));
			ready();
		} });
}
