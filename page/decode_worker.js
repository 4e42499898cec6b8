// Parses large lists aside, so that the page goes on.

import { decodeTable } from "./decode.js";

function buffers(columns) {
	return Object.values(columns.col).map((column) =>
		(column.data ?? column.codes).buffer);
}

self.addEventListener("message", ({ data }) => {
	try {
		const columns = decodeTable(
			new TextDecoder().decode(data.bytes));

		self.postMessage({ ticket: data.ticket, columns },
			buffers(columns));
	} catch (error) {
		self.postMessage({ ticket: data.ticket, error: String(error) });
	}
});
