// Requests of plimsoll's Kubernetes API.

import { decodeTable } from "./decode.js";
import { tokenHeaders } from "./token.js";

// The page is served at / of the API's server, or at .../v1alpha1/ui.
const BASE = new URL(
	/\/v1alpha1\/ui\/?$/.test(location.pathname) ? "./" :
		"apis/load.plimsoll.io/v1alpha1/",
	location.href.replace(/[?#].*$/, "").replace(/\/ui\/$/, "/ui"));

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";

// Answers that are larger are parsed by a worker.
const WORKER_BYTES = 256 * 1024;

// status: of HTTP; 0: the server does not answer. message: its words.
export class Failure extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

function wordsOf(status, text) {
	try {
		const body = JSON.parse(text);

		return body.message || body.error || `status ${status}`;
	} catch {
		return text.trim().slice(0, 300) || `status ${status}`;
	}
}

function urlOf(path, params) {
	const url = new URL(path.map(encodeURIComponent).join("/"), BASE);

	for (const [name, value] of Object.entries(params ?? {})) {
		if (value !== null && value !== undefined && value !== "") {
			url.searchParams.set(name, value);
		}
	}
	return url;
}

// The bytes of the answer.
async function request(path, params, accept, signal) {
	let response, bytes;

	try {
		response = await fetch(urlOf(path, params), {
			headers: { Accept: accept, ...tokenHeaders() },
			cache: "no-store",
			credentials: "same-origin",
			signal,
		});
		bytes = await response.arrayBuffer();
	} catch (error) {
		if (error.name === "AbortError") {
			throw error;
		}
		throw new Failure(0, "the server does not answer");
	}
	if (!response.ok) {
		throw new Failure(response.status,
			wordsOf(response.status, decodeText(bytes)));
	}
	return bytes;
}

function decodeText(bytes) {
	return new TextDecoder().decode(bytes);
}

function parse(decode, text) {
	try {
		return decode(text);
	} catch {
		throw new Failure(0, "the answer is not what the page expects");
	}
}

// path: its parts. Throws Failure, or AbortError.
export async function get(path, params, signal) {
	const bytes = await request(path, params, "application/json", signal);

	return parse(JSON.parse, decodeText(bytes));
}

// Columns of a list (decode.js). fields: as in docs/page.md.
export async function getColumns(path, fields, params, signal) {
	const bytes = await request(path,
		{ ...params, fields: fields.join(",") }, TABLE, signal);

	return bytes.byteLength > WORKER_BYTES ?
		decodeAside(bytes, signal) :
		parse(decodeTable, decodeText(bytes));
}

let worker = null;
let lastTicket = 0;
const waiting = new Map();

function startWorker() {
	worker = new Worker(new URL("./decode_worker.js", import.meta.url),
		{ type: "module" });
	worker.addEventListener("message", ({ data }) => {
		const { resolve, reject } = waiting.get(data.ticket);

		waiting.delete(data.ticket);
		if (data.error === undefined) {
			resolve(data.columns);
		} else {
			reject(new Failure(0, data.error));
		}
	});
}

async function decodeAside(bytes, signal) {
	const ticket = ++lastTicket;

	if (worker === null) {
		startWorker();
	}
	const columns = await new Promise((resolve, reject) => {
		waiting.set(ticket, { resolve, reject });
		worker.postMessage({ ticket, bytes }, [bytes]);
	});

	signal?.throwIfAborted();
	return columns;
}
