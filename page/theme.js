// Dark or light: as the system says, until the user chooses.

const KEY = "plimsoll-theme";

export const themeChanges = new EventTarget();

function systemIsDark() {
	return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function isDark() {
	const chosen = document.documentElement.dataset.theme;

	return chosen === undefined ? systemIsDark() : chosen === "dark";
}

function changed() {
	document.getElementById("theme").textContent =
		isDark() ? "Light" : "Dark";
	themeChanges.dispatchEvent(new Event("change"));
}

export function toggleTheme() {
	const theme = isDark() ? "light" : "dark";

	document.documentElement.dataset.theme = theme;
	try {
		sessionStorage.setItem(KEY, theme);
	} catch {
		// Storage may be forbidden: the choice ends with the page.
	}
	changed();
}

export function startTheme() {
	try {
		const theme = sessionStorage.getItem(KEY);

		if (theme === "dark" || theme === "light") {
			document.documentElement.dataset.theme = theme;
		}
	} catch {
		// as above
	}
	matchMedia("(prefers-color-scheme: dark)")
		.addEventListener("change", changed);
	document.getElementById("theme")
		.addEventListener("click", toggleTheme);
	changed();
}

// A colour of page.css as a canvas needs it.
export function colour(name) {
	const probe = document.createElement("i");

	probe.hidden = true;
	probe.style.color = `var(--${name})`;
	document.body.append(probe);
	const value = getComputedStyle(probe).color;

	probe.remove();
	return value;
}
