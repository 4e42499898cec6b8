// The state of the page in the hash of its address, so that a link has it:
// #/nodes/NAME?sort=-heat&filter=cpu&from=&to=

// { path: ["nodes", "n1"], params }
export function readState() {
	const text = location.hash.replace(/^#\/?/, "");
	const at = text.indexOf("?");
	const path = (at < 0 ? text : text.slice(0, at)).split("/");

	return {
		path: path.filter((part) => part !== "").map(decode),
		params: new URLSearchParams(at < 0 ? "" : text.slice(at + 1)),
	};
}

function decode(part) {
	try {
		return decodeURIComponent(part);
	} catch {
		return part; // not written by this page
	}
}

// The address of a view; members of params that are empty are left out.
export function link(path, params) {
	const text = path.map(encodeURIComponent).join("/");

	if (params === undefined) {
		return `#/${text}`;
	}
	const query = new URLSearchParams();

	for (const [name, value] of Object.entries(params)) {
		if (value !== null && value !== undefined && value !== "") {
			query.set(name, value);
		}
	}
	return `#/${text}` + (query.size > 0 ? `?${query}` : "");
}

// Changes parameters of this view's address. Nothing is shown again.
export function changeState(changes) {
	const { path, params } = readState();

	history.replaceState(null, "", link(path,
		{ ...Object.fromEntries(params), ...changes }));
}
