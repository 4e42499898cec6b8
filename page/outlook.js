// What the leading scheduler believes, asked every 15 s.

import { get } from "./api.js";
import { repeat } from "./live.js";

const EVERY_MS = 15000;

// Calls show(status of the Outlook), or fail(error).
export function followOutlook(show, fail, signal) {
	repeat({ signal, everyMs: EVERY_MS, fail,
		ask: async () => {
			const outlook = await get(["status", "plimsoll", "outlook"],
				null, signal);

			if (!signal.aborted) {
				show(outlook.status ?? {});
			}
		} });
}
