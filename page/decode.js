// Lists as columns. 30,000 rows are a few arrays and not 30,000 objects.
//
// A column of numbers is { data: Float64Array }, NaN where not known. A column
// of texts is { values, codes }: values are the different texts in order, and
// codes[row] is the place in values, NONE where there is no text. So codes
// sort as their texts do.

export const NONE = 0xffffffff;

export function numbers(count, valueOf) {
	const data = new Float64Array(count);

	for (let i = 0; i < count; i++) {
		const value = valueOf(i);

		data[i] = typeof value === "number" ? value :
			value === true ? 1 : value === false ? 0 : NaN;
	}
	return { data };
}

export function texts(count, valueOf) {
	const places = new Map();
	const codes = new Uint32Array(count).fill(NONE);

	for (let i = 0; i < count; i++) {
		const value = valueOf(i);

		if (typeof value === "string" && value !== "") {
			const place = places.get(value) ?? places.size;

			places.set(value, place);
			codes[i] = place;
		}
	}
	const values = [...places.keys()];
	const order = [...values.keys()].sort((a, b) =>
		values[a] < values[b] ? -1 : 1);
	const ranks = new Uint32Array(values.length);

	order.forEach((place, rank) => {
		ranks[place] = rank;
	});
	for (let i = 0; i < count; i++) {
		if (codes[i] !== NONE) {
			codes[i] = ranks[codes[i]];
		}
	}
	return { values: order.map((place) => values[place]), codes };
}

function column(rows, at, type) {
	const known = rows.find(({ cells }) => cells[at] !== null)?.cells[at];
	const isText = known === undefined ? type === "string" :
		typeof known === "string";

	return (isText ? texts : numbers)(rows.length,
		(i) => rows[i].cells[at]);
}

// The Table in JSON as { count, rev, more, col: { field: column } }. more is
// the continue token; empty: these are all rows.
export function decodeTable(json) {
	const table = JSON.parse(json);
	const rows = table.rows ?? [];
	const col = {};

	table.columnDefinitions.forEach(({ name, type }, at) => {
		col[name] = column(rows, at, type);
	});
	return { count: rows.length, col,
		rev: table.metadata?.resourceVersion ?? "",
		more: table.metadata?.continue ?? "" };
}

// The text at a row; "": none.
export function textAt(columnOf, row) {
	const code = columnOf.codes?.[row] ?? NONE;

	return code === NONE ? "" : columnOf.values[code];
}

export function numberAt(columnOf, row) {
	return columnOf?.data === undefined ? NaN : columnOf.data[row];
}
