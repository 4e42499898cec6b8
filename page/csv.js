// A table as a CSV file. Figures are as the API gave them, not rounded.

import { pause } from "./live.js";
import { textAt } from "./decode.js";

const ROWS_AT_ONCE = 2000; // less than 100 ms of work

// A spreadsheet must not take a text for a formula.
function cell(text) {
	const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;

	return /[",\r\n']/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

function cellAt(column, row) {
	if (column === undefined) {
		return "";
	}
	if (column.codes !== undefined) {
		return cell(textAt(column, row));
	}
	return Number.isNaN(column.data[row]) ? "" : String(column.data[row]);
}

// columns: [{ key, label }]; order: the rows to write.
async function write(columns, rows, order) {
	const parts = [`${columns.map((c) => cell(c.key)).join(",")}\r\n`];

	for (let from = 0; from < order.length; from += ROWS_AT_ONCE) {
		let part = "";

		for (const row of order.subarray(from, from + ROWS_AT_ONCE)) {
			part += `${columns.map((c) =>
				cellAt(rows.col[c.key], row)).join(",")}\r\n`;
		}
		parts.push(part);
		await pause(0, new AbortController().signal);
	}
	return new Blob(parts, { type: "text/csv" });
}

export async function download(name, columns, rows, order) {
	const url = URL.createObjectURL(await write(columns, rows, order));
	const anchor = document.createElement("a");

	anchor.href = url;
	anchor.download = `${name}.csv`;
	document.body.append(anchor);
	anchor.click();
	anchor.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}
