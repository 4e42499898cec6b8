// The keyboard, and the dialog that explains it.

import { el, replace } from "./dom.js";
import { togglePause } from "./live.js";
import { toggleTheme } from "./theme.js";

// [key, what it does]
const ROWS = [
	["/", "go to the filter"],
	["Esc", "leave the filter, or close this dialog"],
	["\u2191 \u2193 PgUp PgDn Home End", "go through the rows of a table"],
	["\u2190 \u2192", "go through the links of a row"],
	["Enter", "open the row, or the link"],
	["\u2190 \u2192 + \u2212", "move and zoom a plot that has the focus"],
	["p", "pause live updates, or resume them"],
	["t", "dark or light"],
	["?", "this dialog"],
];

const FILTERS = [
	["web 12", "rows with both words"],
	["node:rack-3", "the word in one column"],
	["cpu>80", "a figure in its unit: %, GiB, cores, seconds; also >= < <= ="],
];

function rowsOf(rows) {
	return el("table", null, el("tbody", null, rows.map(([key, does]) =>
		el("tr", null, el("th", { scope: "row" },
			el("kbd", { text: key })), el("td", { text: does })))));
}

export function showHelp(views) {
	const dialog = document.getElementById("help");

	replace(dialog,
		el("h2", { id: "help-title", text: "Keys" }),
		rowsOf([...views.map((view, at) =>
			[String(at + 1), view.label]), ...ROWS]),
		el("h3", { text: "Filters" }), rowsOf(FILTERS),
		el("p", null, "The address of the page holds the view, its order, " +
			"filter and time: copy it to share what you see. " +
			"Times are UTC."),
		el("form", { method: "dialog" },
			el("button", { text: "Close", autofocus: true })));
	dialog.querySelectorAll("table").forEach((table, at) =>
		table.prepend(el("caption", { class: "hidden",
			text: at === 0 ? "Keys" : "Filters" })));
	dialog.showModal();
}

function isTyping(target) {
	return target.isContentEditable ||
		/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

// views: [{ name, label }]
export function startKeys(views) {
	document.getElementById("help-button").addEventListener("click",
		() => showHelp(views));
	document.getElementById("pause").addEventListener("click",
		togglePause);
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.altKey || event.metaKey ||
			document.getElementById("help").open) {
			return;
		}
		if (isTyping(event.target)) {
			if (event.key === "Escape") {
				event.target.blur();
			}
			return;
		}
		onKey(event, views);
	});
}

function onKey(event, views) {
	const view = views[Number(event.key) - 1];

	if (event.key === "/") {
		event.preventDefault();
		document.querySelector("#view input.filter")?.focus();
	} else if (event.key === "?") {
		event.preventDefault();
		showHelp(views);
	} else if (event.key === "p") {
		togglePause();
	} else if (event.key === "t") {
		toggleTheme();
	} else if (view !== undefined) {
		location.hash = `#/${view.name}`;
	}
}
