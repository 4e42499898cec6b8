// The bearer token. It is in memory only: no storage, no cookie, no address.

let token = "";

export const tokenChanges = new EventTarget();

export function hasToken() {
	return token !== "";
}

// The headers of a request.
export function tokenHeaders() {
	return token === "" ? {} : { Authorization: `Bearer ${token}` };
}

function setToken(text) {
	token = text;
	document.getElementById("forget").hidden = token === "";
	tokenChanges.dispatchEvent(new Event("change"));
}

// Shows the form, with the server's words.
export function askForToken(why) {
	const section = document.getElementById("sign-in");

	document.getElementById("sign-in-why").textContent = why;
	if (section.hidden) {
		section.hidden = false;
		document.getElementById("token").focus();
	}
}

export function startTokenForm() {
	const input = document.getElementById("token");

	document.getElementById("token-form").addEventListener("submit",
		(event) => {
			event.preventDefault();
			const text = input.value.trim();

			input.value = "";
			if (text !== "") {
				document.getElementById("sign-in").hidden = true;
				setToken(text);
			}
		});
	document.getElementById("forget").addEventListener("click",
		() => setToken(""));
}
