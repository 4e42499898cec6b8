// Elements of the page. Text from data becomes text nodes, never markup.

import { shown } from "./text.js";

// Makes an element. Members of props are attributes, but "text" is its text,
// "on" an object of listeners, and false or null leaves an attribute out.
export function el(tag, props, ...children) {
	const element = document.createElement(tag);

	for (const [name, value] of Object.entries(props ?? {})) {
		if (name === "text") {
			element.textContent = shown(value);
		} else if (name === "on") {
			for (const [event, listener] of Object.entries(value)) {
				element.addEventListener(event, listener);
			}
		} else if (value === true) {
			element.setAttribute(name, "");
		} else if (value !== false && value !== null &&
			value !== undefined) {
			element.setAttribute(name, value);
		}
	}
	append(element, children);
	return element;
}

// Strings become text; null and false are left out.
export function append(parent, children) {
	for (const child of children.flat(Infinity)) {
		if (child === null || child === undefined || child === false) {
			continue;
		}
		parent.append(child instanceof Node ? child :
			document.createTextNode(shown(child)));
	}
}

export function replace(parent, ...children) {
	parent.replaceChildren();
	append(parent, children);
}

// Changes the text of an element that has nothing but text, if it differs.
export function setText(element, text) {
	const node = element.firstChild;

	if (node === null) {
		element.append(text);
	} else if (node.data !== text) {
		node.data = text;
	}
}

// A sentence that says what went wrong.
export function alertLine(text) {
	return el("p", { role: "alert", text });
}

// Terms and their values: rows of [term, value or element].
export function facts(rows) {
	const list = el("dl", { class: "facts" });

	for (const [term, value] of rows) {
		list.append(el("div", null, el("dt", { text: term }),
			el("dd", null, value)));
	}
	return list;
}
