// The filter of a table: words that must all hold. A word is looked for in all
// texts of a row. "column:word" looks in one column; "column>number" compares
// a figure in its unit: percent, GiB, cores, seconds.

import { NONE } from "./decode.js";
import { kinds } from "./kinds.js";

const COMPARE = {
	">": (a, b) => a > b,
	">=": (a, b) => a >= b,
	"<": (a, b) => a < b,
	"<=": (a, b) => a <= b,
	"=": (a, b) => a === b,
};

// The column whose heading or key begins with the word.
function findColumn(columns, word) {
	const small = word.toLowerCase();

	return columns.find((c) => c.key.toLowerCase() === small) ??
		columns.find((c) => c.label.toLowerCase() === small) ??
		columns.find((c) => c.label.toLowerCase().startsWith(small));
}

// Which of a column's different texts hold the word.
function codesWith(column, word) {
	return Uint8Array.from(column.values,
		(value) => value.toLowerCase().includes(word) ? 1 : 0);
}

function textTest(list, word) {
	const tests = list.map((column) =>
		[column.codes, codesWith(column, word)]);

	return (row) => tests.some(([codes, hits]) =>
		codes[row] !== NONE && hits[codes[row]] === 1);
}

function testOf(word, columns, rows) {
	const figure = /^([\w ]+?)(>=|<=|>|<|=)(-?[\d.]+)%?$/.exec(word);
	const part = /^([\w ]+?):(.*)$/.exec(word);
	const of = figure ?? part;
	const found = of === null ? undefined : findColumn(columns, of[1]);
	const column = found === undefined ? undefined : rows.col[found.key];

	if (figure !== null && column?.data !== undefined) {
		const limit = Number(figure[3]) * kinds[found.kind].unit;
		const compare = COMPARE[figure[2]];

		return (row) => compare(column.data[row], limit);
	}
	if (part !== null && column?.codes !== undefined) {
		return textTest([column], part[2].toLowerCase());
	}
	return textTest(columns.map((c) => rows.col[c.key])
		.filter((c) => c?.codes !== undefined), word.toLowerCase());
}

// The rows that the filter admits, in their order: Uint32Array.
export function filterRows(text, columns, rows) {
	const tests = text.trim().split(/\s+/).filter((word) => word !== "")
		.map((word) => testOf(word, columns, rows));
	const found = new Uint32Array(rows.count);
	let length = 0;

	if (tests.length === 0) {
		return found.map((_, row) => row);
	}

	for (let row = 0; row < rows.count; row++) {
		if (tests.every((test) => test(row))) {
			found[length++] = row;
		}
	}
	return found.subarray(0, length);
}
