// Figures and names as text. A value that is not known is a dash.

export const DASH = "\u2013";

// Control characters, what Unicode lets a font ignore (it includes all that turn
// the direction of text), separators of lines and marks of annotations.
const HIDDEN = new RegExp("[\\p{Cc}\\p{Default_Ignorable_Code_Point}" +
	"\\u2028\\u2029\\ufff9-\\ufffb]", "gu");

// The text with hidden characters escaped: \x1b, \u202e, \U000e0041.
export function shown(text) {
	return String(text ?? DASH).replace(HIDDEN, (character) => {
		const code = character.codePointAt(0);
		const [start, length] = code < 0x100 ? ["\\x", 2] :
			code < 0x10000 ? ["\\u", 4] : ["\\U", 8];

		return start + code.toString(16).padStart(length, "0");
	});
}

export function isKnown(number) {
	return typeof number === "number" && Number.isFinite(number);
}

// 0.614 is 61 %.
export function percent(share) {
	return isKnown(share) ? `${Math.round(share * 100)} %` : DASH;
}

// Shares of time, of which a few percent are much: 0.0143 is 1.4 %.
export function finePercent(share) {
	return isKnown(share) ? `${(share * 100).toFixed(1)} %` : DASH;
}

export function cores(number) {
	return isKnown(number) ?
		number.toFixed(number < 10 ? 2 : 1) : DASH;
}

export function count(number) {
	return isKnown(number) ? number.toLocaleString("en-US") : DASH;
}

export function decimal(number) {
	return isKnown(number) ?
		String(Math.round(number * 100) / 100) : DASH;
}

export function bytes(number) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let unit = 0;

	if (!isKnown(number)) {
		return DASH;
	}
	for (; number >= 1024 && unit < 5; unit++) {
		number /= 1024;
	}
	return `${number.toFixed(number < 10 && unit > 0 ? 1 : 0)} ` +
		units[unit];
}

// A duration in one unit: 42 s, 3 min, 5 h, 12 d.
export function seconds(number) {
	if (!isKnown(number)) {
		return DASH;
	}
	const size = Math.abs(number);

	return size < 120 ? `${Math.round(number)} s` :
		size < 7200 ? `${Math.round(number / 60)} min` :
		size < 172800 ? `${Math.round(number / 3600)} h` :
		`${Math.round(number / 86400)} d`;
}

// Milliseconds since 1970 of RFC 3339 or unix seconds; NaN: not known.
export function milliseconds(time) {
	return time === null || time === undefined || time === "" ? NaN :
		typeof time === "number" ? time * 1000 : Date.parse(time);
}

// 2026-01-02 03:04:05, in UTC.
export function timeText(time) {
	const ms = milliseconds(time);

	return Number.isNaN(ms) ? DASH :
		new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

// "3 min ago", "in 9 d".
export function distance(time) {
	const s = (milliseconds(time) - Date.now()) / 1000;

	return Number.isNaN(s) ? DASH :
		s < 0 ? `${seconds(-s)} ago` : `in ${seconds(s)}`;
}

// databaseBytes: "Database bytes".
export function words(member) {
	const text = member.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();

	return text.charAt(0).toUpperCase() + text.slice(1);
}
