// Decisions and moves: lists that come newest first, in pages.

import { get } from "./api.js";
import { alertLine, replace } from "./dom.js";
import { follow } from "./live.js";

const PAGE = 200;
const KEPT = 5000;

export class Records {
	// path: of the list. compact(object): what is kept of it, with id and
	// ms.
	constructor({ path, params, compact }) {
		Object.assign(this, { path, params, compact });
		this.forget();
	}

	forget() {
		this.byId = new Map();
		this.more = "";
	}

	// Newest first.
	get items() {
		return [...this.byId.values()].sort((a, b) => b.ms - a.ms);
	}

	async page(extra, signal) {
		const list = await get(this.path,
			{ limit: PAGE, ...this.params, ...extra }, signal);

		return { more: list.metadata?.continue ?? "",
			items: (list.items ?? []).map(this.compact) };
	}

	async newest(signal) {
		const page = await this.page(null, signal);
		const isNew = this.byId.size === 0 ||
			!page.items.some(({ id }) => this.byId.has(id));

		if (isNew) { // the first ones, or too many came since
			this.forget();
			this.more = page.more;
		}
		page.items.forEach((item) => this.byId.set(item.id, item));
		return this.items;
	}

	get hasMore() {
		return this.more !== "" && this.byId.size < KEPT;
	}

	async older(signal) {
		const page = await this.page({ continue: this.more }, signal);

		this.more = page.more;
		page.items.forEach((item) => this.byId.set(item.id, item));
		return this.items;
	}
}

// Shows the list now and whenever it was read again; a failure in the element
// problem.
export function followRecords({ list, signal, everyMs, problem, show, ready }) {
	follow({ signal, betweenMs: () => everyMs,
		ask: async () => {
			await list.newest(signal);
			return {};
		},
		show: () => {
			replace(problem);
			show();
			ready();
		},
		fail: (error) => {
			replace(problem, alertLine(error.message));
			ready();
		} });
}
