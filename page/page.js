// Starts the page and shows the view that the address names.

import { alertLine, el, replace } from "./dom.js";
import { startKeys } from "./keys.js";
import { readState } from "./state.js";
import { startTheme } from "./theme.js";
import { startTokenForm, tokenChanges } from "./token.js";
import { showDecision } from "./view_decision.js";
import { showDecisions } from "./view_decisions.js";
import { showHealth } from "./view_health.js";
import { showMoves } from "./view_moves.js";
import { showNode } from "./view_node.js";
import { showNodes } from "./view_nodes.js";
import { showRoom } from "./view_room.js";
import { showVm } from "./view_vm.js";
import { showVms } from "./view_vms.js";

// name: the first part of the path. list: shows #/NAME. one: shows an object
// below it, and single is the name of that view.
const VIEWS = [
	{ name: "nodes", label: "Nodes", list: showNodes, one: showNode,
		single: "node" },
	{ name: "vms", label: "VMs", list: showVms, one: showVm, single: "vm" },
	{ name: "decisions", label: "Decisions", list: showDecisions,
		one: showDecision, single: "decision" },
	{ name: "moves", label: "Moves", list: showMoves },
	{ name: "room", label: "Room", list: showRoom },
	{ name: "health", label: "Health", list: showHealth },
];

let leave = new AbortController();

function viewOf(path) {
	const view = VIEWS.find(({ name }) => name === path[0]);

	return path.length === 0 ? VIEWS[0] : view;
}

// A view shows itself in main until the signal, and calls ready() once.
function showView() {
	const { path, params } = readState();
	const view = viewOf(path);
	const main = document.getElementById("view");
	const show = path.length > 1 ? view?.one : view?.list;

	leave.abort();
	leave = new AbortController();
	main.dataset.view = show === undefined ? "none" :
		path.length > 1 ? view.single : view.name;
	main.dataset.ready = "false";
	replace(main);
	for (const anchor of document.querySelectorAll("#nav a")) {
		const isThis = anchor.dataset.name === view?.name;

		if (isThis) {
			anchor.setAttribute("aria-current", "page");
		} else {
			anchor.removeAttribute("aria-current");
		}
	}
	document.title = `${path.length > 1 ? path.at(-1) :
		view?.label ?? "Nothing here"} \u2013 plimsoll`;
	if (show === undefined) {
		replace(main, el("h1", { text: "Nothing here" }),
			alertLine("The page has no such view."));
		main.dataset.ready = "true";
		return;
	}
	const { signal } = leave;

	show({ main, path, params, signal,
		// Tables paint their rows in the next frame.
		ready: () => requestAnimationFrame(() => {
			if (!signal.aborted) {
				main.dataset.ready = "true";
			}
		}) });
}

function start() {
	replace(document.getElementById("nav"), el("ul", null,
		VIEWS.map(({ name, label }) => el("li", null, el("a",
			{ href: `#/${name}`, "data-name": name },
			label)))));
	document.getElementById("skip").addEventListener("click", (event) => {
		event.preventDefault();
		document.getElementById("view").focus();
	});
	startTheme();
	startKeys(VIEWS);
	startTokenForm();
	addEventListener("hashchange", showView);
	tokenChanges.addEventListener("change", showView);
	showView();
}

start();
