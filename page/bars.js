// A bar in a cell: used is filled, requested is an outline, expected a mark.

import { el } from "./dom.js";
import { isKnown, percent } from "./text.js";

export const WARM = 0.7;	// shares from which a bar changes its colour
export const HOT = 0.85;

export function level(share) {
	return !isKnown(share) ? "none" :
		share >= HOT ? "hot" : share >= WARM ? "warm" : "cool";
}

// The class of a cell with a share of time of which a few percent are much.
export function waitClass(share) {
	return share >= 0.2 ? "bad" : share >= 0.05 ? "warn" : "";
}

function place(element, member, share) {
	element.hidden = !isKnown(share);
	if (isKnown(share)) {
		element.style[member] =
			`${Math.min(Math.max(share, 0), 1) * 100}%`;
	}
}

// shares: { used, requested, expected } of the whole; NaN: not known.
export function paintBar(td, shares) {
	if (td.firstChild === null) {
		td.append(el("div", { class: "bar" }, el("i", { class: "used" }),
			el("i", { class: "requested" }),
			el("i", { class: "expected" })),
			el("span", { class: "bar-text" }));
	}
	const [bar, text] = td.children;
	const words = [];

	for (const [name, share] of Object.entries(shares)) {
		words.push(`${name} ${percent(share)}`);
		bar.dataset[name] = isKnown(share) ? share.toFixed(3) : "";
	}
	place(bar.children[0], "width", shares.used);
	place(bar.children[1], "width", shares.requested);
	place(bar.children[2], "left", shares.expected);
	bar.dataset.level = level(shares.used);
	td.title = words.join(", ");
	text.textContent = percent(shares.used);
}

export function legend() {
	return el("p", { class: "legend" },
		el("i", { class: "key used" }), "used",
		el("i", { class: "key requested" }), "requested",
		el("i", { class: "key expected" }), "expected soon");
}
