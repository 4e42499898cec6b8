// A table of any number of rows: only those in sight are in the document.
//
// Its frame scrolls. The sizer inside is as high as all rows together, and the
// table stands in it where the rows in sight begin, so that its head, which is
// sticky, stays at the top of the frame.

import { download } from "./csv.js";
import { numberAt, textAt } from "./decode.js";
import { el, setText } from "./dom.js";
import { filterRows } from "./filter.js";
import { kinds } from "./kinds.js";
import { sortRows } from "./sort.js";
import { changeState } from "./state.js";
import { count, DASH, shown } from "./text.js";

const ROW_PX = 30;	// as in page.css
const BEYOND = 4;	// rows above and below those in sight

export class Grid {
	// name: of data-table and of the CSV file. columns: [{ key, label,
	// title, kind, width (px), isHidden, href(rows, row), paint(td, rows,
	// row), mark(rows, row) a class of the cell }]. idOf(rows, row): a text
	// that stays with the row. sort: "-heat" is descending. isMain: sort
	// and filter are in the address. hasFilter: false leaves out the field
	// of the filter.
	constructor(options) {
		this.options = options;
		this.columns = options.columns.filter((c) => !c.isHidden);
		this.rows = { count: 0, col: {} };
		this.order = new Uint32Array(0);
		this.sort = options.params?.get("sort") || options.sort || "";
		this.filter = options.params?.get("filter") ?? "";
		this.first = -1;
		this.active = -1; // the place of the row of the keyboard
		this.activeId = "";
		this.pool = [];
		this.build();
	}

	build() {
		const { name, caption, columns } = { ...this.options,
			columns: this.columns };

		this.head = el("tr", { "aria-rowindex": 1 });
		this.body = el("tbody");
		this.table = el("table", { "data-table": name,
			"aria-rowcount": 1 },
			el("caption", { text: caption }),
			el("colgroup", null, columns.map((c) => {
				const col = el("col");

				if (c.width !== undefined) {
					col.style.width = `${c.width}px`;
				}
				return col;
			})),
			el("thead", null, this.head), this.body);
		this.table.style.minWidth = `${columns.reduce((sum, c) =>
			sum + (c.width ?? 160), 0)}px`;
		this.sizer = el("div", { class: "sizer" }, this.table);
		this.frame = el("div", { class: "frame", tabindex: 0,
			role: "region", "aria-label": caption },
			this.sizer);
		this.buildHead();
		this.element = el("div", { class: "grid" }, this.buildTools(),
			this.frame);
		this.frame.addEventListener("scroll", () => this.wantPaint(),
			{ passive: true });
		this.frame.addEventListener("keydown", (e) => this.onKey(e));
		this.frame.addEventListener("focusin", (e) => this.onFocus(e));
		this.frame.addEventListener("pointerover", ({ target }) =>
			this.tell(target));
		this.watcher = new ResizeObserver(() => this.onResize());
		this.watcher.observe(this.frame);
	}

	buildTools() {
		const { name } = this.options;

		this.input = el("input", { type: "search", value: this.filter,
			id: `filter-${name}`, class: "filter",
			placeholder: "Filter: words, column:word, column>80",
			"aria-label": `Filter ${name}`,
			spellcheck: "false", autocomplete: "off" });
		this.input.addEventListener("input",
			() => this.wantFilter());
		this.counter = el("p", { class: "count", role: "status" });
		return el("div", { class: "grid-tools" },
			el("h2", { text: this.options.title ??
				this.options.caption }),
			this.options.hasFilter !== false && this.input,
			this.counter,
			el("button", { type: "button", class: "csv",
				"aria-label": `Download ${name} as CSV`,
				on: { click: () => this.download() } }, "CSV"));
	}

	buildHead() {
		this.buttons = this.columns.map((c) => {
			const button = el("button", { type: "button",
				title: c.title, text: c.label,
				on: { click: () => this.sortBy(c.key) } });
			const isText = kinds[c.kind].isText || c.isLeft;

			this.head.append(el("th", { scope: "col",
				class: isText ? null : "number" }, button));
			return button;
		});
		this.markSort();
	}

	markSort() {
		const key = this.sort.replace(/^-/, "");

		this.columns.forEach((c, at) => {
			const th = this.head.children[at];

			if (c.key === key) {
				th.setAttribute("aria-sort",
					this.sort.startsWith("-") ?
						"descending" : "ascending");
			} else {
				th.removeAttribute("aria-sort");
			}
		});
	}

	// A figure is sorted from the largest first, a text from A first.
	sortBy(key) {
		const column = this.columns.find((c) => c.key === key);
		const first = kinds[column.kind].isText ? key : `-${key}`;
		const other = kinds[column.kind].isText ? `-${key}` : key;

		this.sort = this.sort === first ? other : first;
		this.markSort();
		this.arrange();
		if (this.options.isMain) {
			changeState({ sort: this.sort });
		}
	}

	// Many keys in one frame are one search.
	wantFilter() {
		if (!this.isFilterWanted) {
			this.isFilterWanted = true;
			requestAnimationFrame(() => {
				this.isFilterWanted = false;
				this.setFilter(this.input.value);
			});
		}
	}

	setFilter(text) {
		this.filter = text;
		if (this.input.value !== text) {
			this.input.value = text;
		}
		this.frame.scrollTop = 0;
		this.arrange();
		if (this.options.isMain) {
			changeState({ filter: text });
		}
	}

	setRows(rows) {
		this.rows = rows;
		this.arrange();
	}

	arrange() {
		const key = this.sort.replace(/^-/, "");
		const all = count(this.rows.count);

		this.order = sortRows(
			filterRows(this.filter, this.options.columns, this.rows),
			this.rows.col[key], this.sort.startsWith("-"));
		this.table.setAttribute("aria-rowcount", this.order.length + 1);
		this.counter.textContent =
			this.order.length === this.rows.count ? `${all} rows` :
				`${count(this.order.length)} of ${all} rows`;
		this.sizer.style.height = `${ROW_PX * (this.order.length + 1)}px`;
		this.followActive();
		this.first = -1;
		this.wantPaint();
	}

	// A text that is cut off is shown whole.
	tell(target) {
		const cell = target.closest("tbody th, tbody td");

		if (cell !== null && cell.childElementCount < 2) {
			cell.title = cell.textContent;
		}
	}

	// The first column stays in sight where the table is wider than its
	// frame.
	onResize() {
		this.frame.classList.toggle("wide",
			this.frame.scrollWidth > this.frame.clientWidth);
		this.wantPaint();
	}

	// The row of the keyboard stays the same row in another order.
	followActive() {
		const { idOf } = this.options;

		if (this.active < 0 || idOf === undefined) {
			return;
		}
		this.active = this.order.findIndex((row) =>
			idOf(this.rows, row) === this.activeId);
	}

	wantPaint() {
		if (this.isWanted) {
			return;
		}
		this.isWanted = true;
		requestAnimationFrame(() => {
			this.isWanted = false;
			this.paint();
		});
	}

	paint() {
		const height = this.frame.clientHeight;
		const sight = Math.ceil(height / ROW_PX) + 2 * BEYOND;
		const first = Math.max(0, Math.min(
			Math.floor(this.frame.scrollTop / ROW_PX) - BEYOND,
			this.order.length - sight));
		const rows = Math.min(sight, this.order.length);

		if (first === this.first && rows === this.pool.length) {
			return;
		}
		const shift = first - this.first;
		const isShift = this.first >= 0 && rows === this.pool.length &&
			Math.abs(shift) < rows;

		this.first = first;
		this.resize(rows);
		this.table.style.top = `${first * ROW_PX}px`;
		if (isShift) {
			this.shiftRows(shift);
		} else {
			this.pool.forEach((tr, i) =>
				this.paintRow(tr, first + i));
		}
	}

	// Rows that left at one end come in at the other.
	shiftRows(shift) {
		const count = this.pool.length;
		const moved = shift > 0 ? this.pool.splice(0, shift) :
			this.pool.splice(count + shift);
		const start = shift > 0 ? count - shift : 0;

		if (moved.some((tr) => tr.contains(document.activeElement))) {
			this.frame.focus({ preventScroll: true });
		}
		if (shift > 0) {
			this.body.append(...moved);
			this.pool.push(...moved);
		} else {
			this.body.prepend(...moved);
			this.pool.unshift(...moved);
		}
		moved.forEach((tr, i) =>
			this.paintRow(tr, this.first + start + i));
	}

	resize(count) {
		while (this.pool.length > count) {
			const tr = this.pool.pop();

			if (tr.contains(document.activeElement)) {
				this.frame.focus({ preventScroll: true });
			}
			tr.remove();
		}
		while (this.pool.length < count) {
			const tr = el("tr", { tabindex: -1 }, this.columns.map(
				(c) => this.newCell(c)));

			this.pool.push(tr);
			this.body.append(tr);
		}
	}

	newCell(column) {
		const isText = kinds[column.kind].isText || column.isLeft;
		const td = el(column.isHead ? "th" : "td", {
			scope: column.isHead ? "row" : null,
			class: isText ? null : "number" });

		if (column.href !== undefined) {
			td.append(el("a", { tabindex: -1 }));
		}
		return td;
	}

	paintRow(tr, place) {
		const row = this.order[place];
		const isActive = place === this.active;
		const rowClass = this.options.rowClass?.(this.rows, row) ?? "";

		tr.setAttribute("aria-rowindex", place + 2);
		tr.dataset.place = place;
		tr.className = isActive ? `${rowClass} active` : rowClass;
		if (!isActive && document.activeElement === tr) {
			this.frame.focus({ preventScroll: true });
		}
		this.columns.forEach((c, at) =>
			this.paintCell(tr.children[at], c, row));
	}

	paintCell(td, column, row) {
		if (column.paint !== undefined) {
			column.paint(td, this.rows, row);
			return;
		}
		if (column.mark !== undefined) {
			td.className = `${column.kind === "text" ? "" : "number"} ` +
				column.mark(this.rows, row);
		}
		const text = this.textOf(column, row);
		const target = column.href === undefined ? td : td.firstChild;

		setText(target, text);
		if (column.href !== undefined) {
			const href = column.href(this.rows, row);

			if (href === "") {
				target.removeAttribute("href");
			} else if (target.getAttribute("href") !== href) {
				target.setAttribute("href", href);
			}
		}
	}

	textOf(column, row) {
		const data = this.rows.col[column.key];

		if (data === undefined) {
			return DASH;
		}
		return data.codes !== undefined ?
			shown(textAt(data, row) || DASH) :
			(kinds[column.kind].write ?? (() => DASH))(
				numberAt(data, row));
	}

	download() {
		return download(`plimsoll-${this.options.name}`,
			this.options.columns, this.rows, this.order);
	}

	// ---- the keyboard ----

	onFocus(event) {
		const tr = event.target.closest?.("tbody tr");

		if (tr !== null && tr !== undefined) {
			this.setActive(Number(tr.dataset.place));
		}
	}

	setActive(place) {
		this.active = place;
		this.activeId = place < 0 ? "" : this.options.idOf?.(this.rows,
			this.order[place]) ?? "";
		this.pool.forEach((tr) => tr.classList.toggle("active",
			Number(tr.dataset.place) === place));
	}

	onKey(event) {
		const page = Math.max(1,
			Math.floor(this.frame.clientHeight / ROW_PX) - 2);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page,
			PageUp: -page, Home: -Infinity, End: Infinity };
		const step = steps[event.key];

		if (event.key === "Enter" && event.target.tagName === "TR") {
			event.target.querySelector("a[href]")?.click();
			return;
		}
		if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
			this.goToLink(event);
			return;
		}
		if (step === undefined || this.order.length === 0 ||
			event.ctrlKey || event.altKey || event.metaKey) {
			return;
		}
		event.preventDefault();
		this.goTo(this.active < 0 ? this.firstInSight() :
			this.active + step);
	}

	// The next link of the row, or the one before.
	goToLink(event) {
		const links = [...event.target.closest("tbody tr")
			?.querySelectorAll("a[href]") ?? []];
		const at = links.indexOf(event.target) +
			(event.key === "ArrowRight" ? 1 : -1);

		if (links[at] !== undefined && !event.altKey) {
			event.preventDefault();
			links[at].focus({ preventScroll: true });
		}
	}

	firstInSight() {
		return Math.ceil(this.frame.scrollTop / ROW_PX);
	}

	goTo(place) {
		const to = Math.max(0, Math.min(this.order.length - 1, place));
		const top = to * ROW_PX;
		const sight = this.frame.clientHeight - 2 * ROW_PX;

		if (top < this.frame.scrollTop) {
			this.frame.scrollTop = top;
		} else if (top > this.frame.scrollTop + sight) {
			this.frame.scrollTop = top - sight;
		}
		this.setActive(to);
		this.first = -1;
		this.paint();
		this.pool.find((tr) => Number(tr.dataset.place) === to)
			?.focus({ preventScroll: true });
	}

	close() {
		this.watcher.disconnect();
	}
}
