// Live updates: long polls one after the other, until the view is left.

import { Failure } from "./api.js";
import { distance } from "./text.js";
import { askForToken, tokenChanges } from "./token.js";

const POLL_SECONDS = 30;
const BETWEEN_MS = 5000; // the API asks for this
const RETRY_MS = [1000, 2000, 4000, 8000, 15000, 30000];

let isPaused = false;
const pauseChanges = new EventTarget();
let lastAnswer = NaN;

export function togglePause() {
	const button = document.getElementById("pause");

	isPaused = !isPaused;
	button.setAttribute("aria-pressed", String(isPaused));
	button.textContent = isPaused ? "Resume" : "Pause";
	showLive();
	pauseChanges.dispatchEvent(new Event("change"));
}

function showLive() {
	const text = isPaused ? "paused" :
		Number.isNaN(lastAnswer) ? "" : "live";

	document.getElementById("live").textContent = text;
	document.getElementById("live").title = Number.isNaN(lastAnswer) ? "" :
		`last answer ${distance(lastAnswer / 1000)}`;
}

// The server answered: no banner.
export function answered() {
	lastAnswer = Date.now();
	document.getElementById("banner").hidden = true;
	showLive();
}

function missing(message, waitMs) {
	const banner = document.getElementById("banner");

	banner.textContent = `${message.replace(/^./, (c) =>
		c.toUpperCase())}. The figures below are the last known ones. ` +
		`The page asks again in ${Math.ceil(waitMs / 1000)} s.`;
	banner.hidden = false;
}

function event(target, name, signal) {
	return new Promise((resolve) => {
		target.addEventListener(name, resolve, { once: true, signal });
		signal.addEventListener("abort", resolve, { once: true });
	});
}

export function pause(ms, signal) {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, ms);

		signal.addEventListener("abort", () => {
			clearTimeout(timer);
			resolve();
		}, { once: true });
	});
}

async function whenWanted(signal) {
	while (!signal.aborted && (document.hidden || isPaused)) {
		await (document.hidden ?
			event(document, "visibilitychange", signal) :
			event(pauseChanges, "change", signal));
	}
}

// Calls ask() each so many ms, while somebody looks and the page is not paused.
// fail(error) is called with a Failure. Without a valid token it ends: a token
// shows the view again.
export async function repeat({ ask, fail, everyMs, signal }) {
	for (;;) {
		await whenWanted(signal);
		if (signal.aborted) {
			return;
		}
		try {
			await ask();
		} catch (error) {
			if (signal.aborted) {
				return;
			}
			if (!(error instanceof Failure)) {
				throw error;
			}
			if (error.status === 401) {
				askForToken(error.message);
				return;
			}
			fail(error);
		}
		await pause(everyMs, signal);
	}
}

// Waits as a failure demands. failures: how many there were in a row.
async function wait(error, failures, signal) {
	if (error.status === 401) {
		askForToken(error.message);
		await event(tokenChanges, "change", signal);
		return;
	}
	const ms = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] *
		(0.8 + 0.4 * Math.random());

	if (error.status === 0 || error.status === 502 ||
		error.status === 504) {
		missing(error.message, ms);
	}
	await pause(error.status >= 400 && error.status < 500 ?
		POLL_SECONDS * 1000 : ms, signal);
}

// Calls ask(params) again and again and show(answer) with each answer. params
// has after and timeoutSeconds once an answer had a rev. fail(error) is called
// with a Failure that the server put in words. betweenMs: at least 5 s.
export async function follow({ ask, show, fail, signal, betweenMs }) {
	let rev = "";
	let failures = 0;

	for (;;) {
		await whenWanted(signal);
		if (signal.aborted) {
			return;
		}
		try {
			const answer = await ask(rev === "" ? {} :
				{ after: rev, timeoutSeconds: POLL_SECONDS });

			if (signal.aborted) {
				return;
			}
			rev = answer.rev ?? answer.metadata?.resourceVersion ?? "";
			failures = 0;
			answered();
			show(answer);
			await pause(Math.max(betweenMs?.() ?? 0, BETWEEN_MS),
				signal);
		} catch (error) {
			if (signal.aborted) {
				return;
			}
			if (!(error instanceof Failure)) {
				throw error;
			}
			rev = "";
			if (error.status !== 401) {
				fail?.(error);
			}
			await wait(error, failures++, signal);
		}
	}
}
