// Kinds of figures: how a column writes them, and the unit in which a filter
// compares them.

import * as text from "./text.js";

export const kinds = {
	text: { isText: true },
	share: { write: text.percent, unit: 0.01 },
	time_share: { write: text.finePercent, unit: 0.01 },
	cores: { write: text.cores, unit: 1 },
	bytes: { write: text.bytes, unit: 2 ** 30 },
	seconds: { write: text.seconds, unit: 1 },
	count: { write: text.count, unit: 1 },
	decimal: { write: text.decimal, unit: 1 },
	time: { write: text.timeText, unit: 1 },
};
